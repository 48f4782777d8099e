"""Puts one variant's recording, verdict and findings into its part of the report."""

from __future__ import annotations

import math
import statistics
import sys

import msgspec

from harness.expectations import as_expected
from harness.model.gradients import GradientTable
from harness.model.recording import Ending, Recording, SubjectRecord
from harness.model.report import Conservation, Curve, Finding, RunReport, SubjectId, Throughput
from harness.model.series import Series
from harness.model.verdict import Verdict

__all__ = ["assemble"]

_CURVES = ("leak.bytes", "heap.used", "python.bytes", "rss.anon", "fds", "threads", "shm.bytes", "children.count")
_CURVE_POINTS = 64


def assemble(
    recording: Recording,
    verdict: Verdict,
    findings: tuple[Finding, ...],
    *,
    path: str,
    conservation: Conservation | None = None,
) -> RunReport:
    """The run as the report tells it; *path* is how the file is named to people."""
    scenario = recording.scenario
    counted = recording.subjects[0]
    ledger = recording.subject("ledger")
    followed = ledger.ledger if ledger is not None else None
    peak = followed.peak if followed is not None else None
    run = RunReport(
        scenario=scenario.name,
        path=path,
        variant=scenario.variant,
        subject=SubjectId(pid=counted.pid),
        title=scenario.title,
        tags=scenario.tags,
        outcome=verdict.outcome,
        reasons=verdict.reasons,
        expected=scenario.expected,
        as_expected=False,
        started=counted.started,
        steps=counted.steps,
        warmup_steps=verdict.warmup_steps,
        elapsed_s=_elapsed_s(recording),
        throughput=_throughput(counted, ledger, verdict.warmup_steps, scenario.items_per_step),
        peak_bytes=followed.peak_bytes if followed is not None else {},
        peak_step=peak.step if peak is not None else None,
        peak_by_role=peak.by_role if peak is not None else {},
        peak_parts=peak.parts if peak is not None else (),
        allocations_per_step=_allocations(ledger, verdict.warmup_steps),
        gradients=_gradients(recording),
        growth=verdict.growth,
        findings=findings,
        look_alikes=verdict.look_alikes,
        notes=_notes(recording, verdict),
        conservation=conservation,
        curves=_curves(recording),
        stdout=counted.stdout,
        stderr=counted.stderr,
        ending=_ending(recording),
    )
    return _with_expectation(run)


def _elapsed_s(recording: Recording) -> float:
    if recording.took_s is not None:
        return recording.took_s
    return sum(subject.elapsed_ns for subject in recording.subjects) / 1e9


def _with_expectation(run: RunReport) -> RunReport:
    return msgspec.structs.replace(run, as_expected=as_expected(run))


def _ending(recording: Recording) -> Ending:
    """The worst ending: the first subject's that did not end well, with its role where it is not the first."""
    for subject in recording.subjects:
        if subject.ending.status != "ok" and subject.role in ("plain", "ledger", "uncollected"):
            return subject.ending  # what an experiment of ours did to the program is not its own ending
    return recording.subjects[0].ending


def _throughput(
    subject: SubjectRecord, ledger: SubjectRecord | None, warmup: int, items_per_step: int | None
) -> Throughput | None:
    times = subject.step_ns.since(warmup).values or subject.step_ns.values
    median_ns = statistics.median(times) if times else 0
    if median_ns <= 0:
        return None
    fast, _, slow = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else (median_ns,) * 3
    per_s = 1e9 / median_ns
    throughput = Throughput(steps_per_s=per_s, low=median_ns / max(slow, 1), high=median_ns / max(fast, 1))
    if not items_per_step:
        return throughput
    allocations, transient = _allocations(ledger, warmup), _transient_bytes(ledger, warmup)
    return msgspec.structs.replace(
        throughput,
        items_per_s=per_s * items_per_step,
        bytes_per_item=transient / items_per_step if transient is not None else None,
        allocations_per_item=allocations / items_per_step if allocations is not None else None,
    )


def _transient_bytes(ledger: SubjectRecord | None, warmup: int) -> float | None:
    """What a step needs at its peak beside what was alive before it, the median over the measured steps."""
    peaks = ledger.find("peak.tensors") if ledger is not None else None
    alive = ledger.find("leak.bytes") if ledger is not None else None
    if peaks is None or alive is None:
        return None
    before = dict(zip(alive.steps, alive.values, strict=True))
    measured = peaks.since(warmup)
    found = [
        peak - before[step - 1]
        for step, peak in zip(measured.steps, measured.values, strict=True)
        if step - 1 in before
    ]
    return statistics.median(found) if found else None


def _allocations(ledger: SubjectRecord | None, warmup: int) -> float | None:
    series = ledger.find("allocations.step") if ledger is not None else None
    values = series.since(warmup).values if series is not None else ()
    return statistics.median(values) if values else None


def _gradients(recording: Recording) -> GradientTable | None:
    subject = recording.subject("gradients")
    return subject.gradients if subject is not None else None


def _notes(recording: Recording, verdict: Verdict) -> tuple[str, ...]:
    ledger = recording.subject("ledger")
    blind: tuple[str, ...] = ()
    if ledger is not None and ledger.ledger is not None and ledger.ledger.sites:
        blind = (f"the {ledger.ledger.source} ledger does not see {ledger.ledger.blind_to}",)
    unheld = tuple(
        f"who holds what could not be told ({subject.held.failed}): please report it"
        for subject in recording.subjects
        if subject.held is not None and subject.held.failed is not None
    )
    remarks = tuple(remark for subject in recording.subjects for remark in subject.remarks)
    return (*verdict.notes, *remarks, *blind, *unheld, *_without_native_stacks(recording))


def _without_native_stacks(recording: Recording) -> tuple[str, ...]:
    """Why they could not be taken, where they were wanted."""
    subject = recording.subject("native")
    if subject is None or (subject.native is not None and subject.native.absence is None):
        return ()
    reason = subject.native.absence if subject.native is not None else None
    if reason is None:
        lines = (subject.ending.detail or "").strip().splitlines()
        reason = f"the process under memray ended badly ({subject.ending.status})" + (f": {lines[-1]}" if lines else "")
    return (f"native stacks could not be taken: {reason}",)


def _curves(recording: Recording) -> tuple[Curve, ...]:
    curves = []
    for name in _CURVES:
        for subject in recording.subjects:
            series = subject.find(name)
            if series is not None and len(series.values) > 1 and min(series.values) != max(series.values):
                curves.append(_thinned(series))
                break
    return (*curves, *_norm_curve(_gradients(recording)))


def _norm_curve(table: GradientTable | None) -> tuple[Curve, ...]:
    """The norm of all gradients as one vector, over the epochs that every parameter tells of."""
    if table is None:
        return ()
    told = [{row.epoch: row.norm for row in parameter.rows} for parameter in table.parameters]
    epochs = sorted(set.intersection(*map(set, told))) if told else []
    if len(epochs) < 2:
        return ()
    norms = (math.hypot(*(row[epoch] for row in told)) for epoch in epochs)
    values = tuple(min(norm, sys.float_info.max) for norm in norms)  # JSON has no word for infinity
    return (Curve(metric="gradient.norm", steps=tuple(epochs), values=values),)


def _thinned(series: Series) -> Curve:
    count = len(series.steps)
    stride = max(1, -(-count // _CURVE_POINTS))
    picked = sorted({*range(0, count, stride), count - 1})
    return Curve(
        metric=series.metric,
        steps=tuple(series.steps[k] for k in picked),
        values=tuple(series.values[k] for k in picked),
    )
