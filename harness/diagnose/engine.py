"""Asks the rules about each suspect, and words the faults."""

from __future__ import annotations

import msgspec

from harness.diagnose.case import Case, Opinion
from harness.diagnose.fault_fixes import FAULT_FIXES
from harness.diagnose.fingerprint import fingerprint
from harness.diagnose.known import with_known
from harness.diagnose.native import with_native_stacks
from harness.diagnose.rules import RULES
from harness.model.allocation import Frame
from harness.model.metric import metric
from harness.model.recording import FaultRecord, Recording
from harness.model.report import Finding
from harness.model.verdict import Suspect, Verdict

__all__ = ["diagnose"]

_NATIVE = ("heap.used", "python.bytes")
"""Live native bytes: the C heap (tensors among them) and Python's own arenas, which the heap figure does not see."""


def diagnose(recording: Recording, verdict: Verdict) -> tuple[Finding, ...]:
    """One finding a line and cause of a leak, then one a fault (of those the verdict counts)."""
    findings: list[Finding] = []
    if verdict.outcome == "leak":
        cases = [Case(recording=recording, verdict=verdict, suspect=suspect) for suspect in verdict.suspects]
        findings = _merged([with_native_stacks(case, _finding(case)) for case in cases])
    faults = verdict.faults if verdict.outcome == "fault" else ()
    return (
        *(with_known(f, recording.environment) for f in findings),
        *(_fault_finding(recording, fault) for fault in faults),
    )


def _finding(case: Case) -> Finding:
    opinion = next((o for rule in RULES if (o := rule(case)) is not None), None) or _unexplained(case)
    suspect, site = case.suspect, case.suspect.site
    tensor_bytes = suspect.site_growth.per_step if suspect.site_growth is not None else 0.0
    return Finding(
        cause=opinion.cause,
        fault=None,
        explanation=opinion.explanation,
        fix=opinion.fix,
        device=site.device if site else None,
        confidence="exact" if metric(suspect.metric).exact else "statistical",
        bytes_per_step=_bytes_per_step(case, tensor_bytes),
        tensor_bytes_per_step=tensor_bytes,
        objects_per_step=_objects_per_step(case),
        retained_bytes=_retained(suspect),
        allocated_at=site.frames if site else (),
        fingerprint=fingerprint(
            opinion.cause,
            case.recording.scenario.path,
            site.frames[0] if site and site.frames else None,
            suspect.metric,
        ),
    )


def _merged(findings: list[Finding]) -> list[Finding]:
    """Findings of one cause at one line as one: a single call of a layer allocates in several operators."""
    by_place: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        at = finding.allocated_at[0] if finding.allocated_at else None
        place = (finding.cause, finding.device, at.path, at.line) if at is not None else (finding.fingerprint,)
        known = by_place.get(place)
        by_place[place] = finding if known is None else _sum(known, finding)
    return list(by_place.values())


def _sum(one: Finding, other: Finding) -> Finding:
    return msgspec.structs.replace(
        one,
        bytes_per_step=max(one.bytes_per_step, one.tensor_bytes_per_step + other.tensor_bytes_per_step),
        tensor_bytes_per_step=one.tensor_bytes_per_step + other.tensor_bytes_per_step,
        objects_per_step=one.objects_per_step + other.objects_per_step,
        retained_bytes=one.retained_bytes + other.retained_bytes,
    )


def _unexplained(case: Case) -> Opinion:
    return Opinion(
        cause="native_heap",
        explanation=f"{metric(case.suspect.metric).title} grows, and nothing that is counted explains it",
        fix="Halve the step until it stops growing; the half that grows has the cause.",
    )


def _bytes_per_step(case: Case, tensor_bytes: float) -> float:
    """All native growth where there is one suspect; else this suspect's own, so that nothing is counted twice."""
    if case.suspect.in_uncollected:
        return case.suspect.growth.per_step  # where the collector runs, nothing grows
    metric_of = case.suspect.metric
    if metric(metric_of).unit == "bytes" and metric_of not in (*_NATIVE, "leak.bytes"):
        return case.suspect.growth.per_step
    native = sum(case.rate(name) for name in _NATIVE)
    if len(case.verdict.suspects) == 1:
        return max(native, tensor_bytes)
    if metric_of in _NATIVE:
        return case.suspect.growth.per_step
    return tensor_bytes


def _objects_per_step(case: Case) -> float:
    suspect = case.suspect
    if suspect.site is not None and len(suspect.site.steps) > 1:
        site = suspect.site
        return (site.storages[-1] - site.storages[0]) / max(1, site.steps[-1] - site.steps[0])
    if metric(suspect.metric).unit == "count":
        return suspect.growth.per_step
    return case.rate("python.blocks")


def _retained(suspect: Suspect) -> int:
    return suspect.site.bytes[-1] if suspect.site is not None and suspect.site.bytes else 0


def _fault_finding(recording: Recording, fault: FaultRecord) -> Finding:
    frame = None
    if fault.path is not None and fault.line is not None:
        frame = Frame(path=fault.path, line=fault.line, function=fault.function or "?", source=fault.source)
    return Finding(
        cause=None,
        fault=fault.fault,
        explanation=fault.explanation,
        fix=FAULT_FIXES[fault.fault],
        confidence="exact",
        bytes_per_step=0.0,
        tensor_bytes_per_step=0.0,
        objects_per_step=0.0,
        retained_bytes=0,
        allocated_at=(frame,) if frame else (),
        fingerprint=fingerprint(fault.fault, recording.scenario.path, frame, "fault"),
    )
