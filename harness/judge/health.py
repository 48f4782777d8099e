"""Checks that refuse a verdict from unsound data, each with a sentence that says why."""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.judge.policy import Policy
from harness.model.recording import SubjectRecord
from harness.model.series import Series

__all__ = ["ledger_problem", "problems_of"]

Check = Callable[[SubjectRecord, Policy], str | None]


def problems_of(subject: SubjectRecord, policy: Policy) -> tuple[str, ...]:
    """What speaks against judging *subject*: one sentence a failed check."""
    answers = [check(subject, policy) for check in _CHECKS]
    return tuple(a for a in answers if a is not None)


def ledger_problem(subject: SubjectRecord) -> str | None:
    """Why this subject's tensor figures cannot be used, although its counters can."""
    if subject.ledger is not None and subject.ledger.dropped:
        return (
            f"the tensor ledger is incomplete: it had no room for {subject.ledger.dropped:,} storages, "
            "so its figures are not used"
        )
    return None


def _enough_steps(subject: SubjectRecord, policy: Policy) -> str | None:
    measured = max(subject.steps - subject.warmup_steps, 0)
    died_for_memory = subject.ending.status in ("out_of_memory", "killed")
    least = policy.least_steps_out_of_memory if died_for_memory else policy.least_steps
    if measured >= least:
        return None
    return (
        f"too few steps: {measured} after {subject.warmup_steps} of warm-up ran in the {subject.role} subject, "
        f"and a verdict needs {least}"
    )


def _numbers_finite(subject: SubjectRecord, policy: Policy) -> str | None:
    for series in subject.series:
        bad = next((k for k, v in enumerate(series.values) if not math.isfinite(v)), None)
        if bad is not None:
            return f"{series.metric} is {series.values[bad]} at step {series.steps[bad]}: that is no reading"
    return None


def _steps_rise(subject: SubjectRecord, policy: Policy) -> str | None:
    for series in subject.series:
        fault = _first_backward(series)
        if fault is not None:
            return f"the steps of {series.metric} do not rise: {fault[1]} follows {fault[0]}"
    return None


def _lengths_match(subject: SubjectRecord, policy: Policy) -> str | None:
    for series in subject.series:
        if len(series.steps) != len(series.values):
            return f"{series.metric} has {len(series.steps)} steps and {len(series.values)} values"
    sites = subject.ledger.sites if subject.ledger is not None else ()
    for site in sites:
        if len({len(site.steps), len(site.storages), len(site.bytes), len(site.oldest_birth)}) != 1:
            return f"the ledger's site {site.site} has columns of different lengths"
    return None


def _something_was_read(subject: SubjectRecord, policy: Policy) -> str | None:
    return None if subject.series else f"no instrument gave a reading in the {subject.role} subject"


def _first_backward(series: Series) -> tuple[int, int] | None:
    pairs = zip(series.steps, series.steps[1:], strict=False)
    return next(((a, b) for a, b in pairs if b <= a), None)


_CHECKS: tuple[Check, ...] = (_lengths_match, _something_was_read, _steps_rise, _numbers_finite, _enough_steps)
