"""Run on, or stop: what a checkpoint decides from the subject as far as it has come."""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.assessment import Assessment, assess
from harness.judge.growth import Movement
from harness.judge.movements import OUTSIDE_HEAP
from harness.judge.policy import DEFAULT, Policy
from harness.judge.uncollected import fell_back
from harness.judge.wording import title
from harness.model.recording import SubjectRecord

__all__ = ["go_on", "open_question"]

_COUNTS = ("children.count", "threads", "fds")
_TENSORS = ("leak.bytes", "leak.tensors")
_MEMORY = ("heap.used", "python.bytes", "python.blocks", "shm.bytes", "rss.shared", "children.bytes")
_DEVICE = ("device.allocated", "device.reserved", "device.outside")


def go_on(subject: SubjectRecord, policy: Policy = DEFAULT) -> str | None:
    """Why *subject* should run more steps, in a few words; None where what was seen is certain.

    Certain is: flat for ``policy.flat_after`` steps, growing beyond the metric's horizon, or stopped for longer than
    it grew. The caller stops anyhow at the last checkpoint and when the time budget is spent.
    """
    if not subject.started:
        return None
    return open_question(assess(subject, policy), policy)


def open_question(assessment: Assessment, policy: Policy) -> str | None:
    """The same for a subject that is already assessed."""
    measured = assessment.measured
    if measured < policy.least_steps:
        return f"only {measured} steps were measured"
    if not assessment.sound:
        return None  # more of what cannot be judged helps nobody
    if any(assessment.grows(m) and measured >= policy.horizon(m) for m in _COUNTS):
        return None  # a process costs tens of MB: once it is a leak, no more of them
    if measured >= policy.checkpoints[-1] or _decided(assessment, policy):
        return None
    for movement in _watched(assessment, policy):  # one by one: the first open question is enough
        question = _question(movement, measured, policy)
        if question is not None:
            return question
    return _too_early_to_call_flat(assessment, policy)


def _decided(assessment: Assessment, policy: Policy) -> bool:
    """Some memory grew beyond the horizon and does not slow down: what else moves a little is worth no more steps."""
    if assessment.measured < policy.general_horizon:
        return False
    leading = (
        *map(assessment.find, (*_TENSORS, "heap.used", "python.bytes")),
        *(s.leading for s in assessment.growing_sites),
    )
    return any(m is not None and _question(m, assessment.measured, policy) is None and m.grows for m in leading)


def _watched(assessment: Assessment, policy: Policy) -> Iterator[Movement]:
    metrics = [*_TENSORS, *_DEVICE]
    if assessment.subject.role != "ledger":
        metrics += [*_COUNTS, *_MEMORY]  # a ledger's own heap is a second witness, and shows enough in few steps
    if assessment.subject.role == "uncollected" and fell_back(assessment, policy):
        return
    yield from (m for m in map(assessment.find, metrics) if m is not None)
    resident = assessment.find("rss.anon")
    plain = assessment.subject.role != "ledger"
    if (
        plain
        and OUTSIDE_HEAP in assessment.movements
        and resident is not None
        and (resident.grows or resident.doubtful)
    ):
        yield assessment.movements[OUTSIDE_HEAP]  # threads' arenas move it; without resident pages it is no leak
    for site in assessment.sites:
        yield from (site.storages, site.bytes)


def _question(movement: Movement, measured: int, policy: Policy) -> str | None:
    name = title(movement.metric)
    if movement.growth.trend == "growing":
        if movement.slowing:
            return f"{name}: growth is slowing down"
        if (movement.span if movement.after_fill else measured) < policy.horizon(movement.metric):
            return f"{name}: still growing, a cache may still be filling"
        return None
    if movement.doubtful and movement.growth.trend == "bounded":
        return f"{name}: stopped growing only {movement.still_for} steps ago"
    if movement.unsettled or (movement.doubtful and measured < policy.general_horizon):
        return f"{name}: growing or not cannot be told yet"
    return None


def _too_early_to_call_flat(assessment: Assessment, policy: Policy) -> str | None:
    measured = assessment.measured
    if measured < policy.flat_after:
        return f"flat for only {measured} steps"
    if measured < policy.flat_after_cheap and assessment.subject.elapsed_ns < policy.cheap_s * 1e9:
        return "steps are cheap"
    return None
