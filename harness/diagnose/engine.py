"""Asks the rules about each suspect, and words the faults."""

from __future__ import annotations

import msgspec
import numpy as np

from harness.diagnose.case import Case, Opinion
from harness.diagnose.fault_fixes import FAULT_FIXES
from harness.diagnose.fingerprint import fingerprint
from harness.diagnose.holders import told
from harness.diagnose.known import with_known
from harness.diagnose.native import with_native_stacks
from harness.diagnose.rules import RULES
from harness.model.allocation import Frame
from harness.model.holding import CutOrder
from harness.model.metric import metric
from harness.model.recording import FaultRecord, Recording
from harness.model.report import Finding
from harness.model.verdict import Suspect, Verdict
from harness.stats.trend import robust_trend

__all__ = ["cut_orders", "diagnose"]

_LEAST_TO_WEIGH = 16
_NATIVE = ("heap.used", "python.bytes")
"""Live native bytes: the C heap (tensors among them) and Python's own arenas, which the heap figure does not see."""

_NOWHERE = ("native", "cycle", "surplus")
"""Roots that several leaks may share: what lies there is told apart by its line."""


def diagnose(recording: Recording, verdict: Verdict) -> tuple[Finding, ...]:
    """One finding a line and cause of a leak, then one a fault (of those the verdict counts)."""
    findings: list[Finding] = []
    if verdict.suspects:
        cases = [Case(recording=recording, verdict=verdict, suspect=suspect) for suspect in verdict.suspects]
        findings = _all_of_it(cases, _merged(cases))
    faults = verdict.faults if verdict.outcome == "fault" else ()
    return (
        *(with_known(f, recording.environment) for f in findings),
        *(_fault_finding(recording, fault) for fault in faults),
    )


def cut_orders(recording: Recording, verdict: Verdict) -> tuple[CutOrder, ...]:
    """What could be cut to confirm the findings of *verdict*, the largest first; those whose edge another process of
    the program has too."""
    if verdict.outcome != "leak":
        return ()
    orders: dict[str, CutOrder] = {}
    for suspect in verdict.suspects:
        case = Case(recording=recording, verdict=verdict, suspect=suspect)
        fingerprint_of_it = _finding(case).fingerprint
        order = case.path.cut_order(fingerprint_of_it) if case.path is not None else None
        if order is not None:
            orders.setdefault(fingerprint_of_it, order)
    return tuple(orders.values())


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
        bytes_per_step=_bytes_per_step(case, tensor_bytes, opinion.cause),
        tensor_bytes_per_step=tensor_bytes,
        objects_per_step=_objects_per_step(case),
        retained_bytes=_retained(suspect),
        allocated_at=site.frames if site else (),
        retained_at=case.retained_at,
        held_by=told(case.path) if case.path is not None else None,
        fingerprint=_fingerprint(case, opinion.cause),
    )


def _fingerprint(case: Case, cause: str) -> str:
    """By the names up to the suspect where the holder is known, else by the allocating line."""
    path, site = case.path, case.suspect.site
    if path is not None and path.suspect is not None:
        names = ["[*]" if link.name.startswith("[") else link.name for link in path.links[: path.suspect + 1]]
        root = "" if path.root_kind in ("module", "class") else path.root_kind
        return fingerprint(cause, case.recording.scenario.path, None, " > ".join((root, *names)))
    frame = site.frames[0] if site and site.frames else None
    return fingerprint(cause, case.recording.scenario.path, frame, case.suspect.metric)


def _merged(cases: list[Case]) -> list[Finding]:
    """Findings of one cause at one line, or in one container, as one: a single call of a layer allocates in several
    operators, and a list of modules keeps all their parameters."""
    by_place: dict[tuple[object, ...], Finding] = {}
    for case in cases:
        finding = with_native_stacks(case, _finding(case))
        place = (finding.cause, *_place(case, finding))
        known = by_place.get(place)
        by_place[place] = finding if known is None else _sum(known, finding)
    return list(by_place.values())


def _place(case: Case, finding: Finding) -> tuple[object, ...]:
    if case.path is not None and case.path.suspect is not None and case.path.root_kind not in _NOWHERE:
        return (finding.device, finding.fingerprint) if finding.cause != "thread_growth" else ()
    at = finding.allocated_at[0] if finding.allocated_at else None
    if finding.cause == "thread_growth":
        return ()
    return (finding.device, at.path, at.line) if at is not None else (finding.fingerprint,)


def _sum(one: Finding, other: Finding) -> Finding:
    return msgspec.structs.replace(
        one,
        held_by=one.held_by or other.held_by,
        allocated_at=one.allocated_at or other.allocated_at,
        retained_at=one.retained_at or other.retained_at,
        device=one.device or other.device,
        bytes_per_step=max(one.bytes_per_step, one.tensor_bytes_per_step + other.tensor_bytes_per_step),
        tensor_bytes_per_step=one.tensor_bytes_per_step + other.tensor_bytes_per_step,
        objects_per_step=one.objects_per_step + other.objects_per_step,
        retained_bytes=one.retained_bytes + other.retained_bytes,
    )


def _all_of_it(cases: list[Case], findings: list[Finding]) -> list[Finding]:
    """A single finding has all growth of the heap, also what came with its tensors and is neither counted nor named.

    The small objects around a tensor lie in Python's arenas; they are its company, not its bytes."""
    if len(findings) != 1 or any(case.suspect.metric not in ("leak.bytes", "leak.tensors") for case in cases):
        return findings
    heap = cases[0].rate("heap.used")
    return [msgspec.structs.replace(findings[0], bytes_per_step=max(heap, findings[0].bytes_per_step))]


def _unexplained(case: Case) -> Opinion:
    return Opinion(
        cause="native_heap",
        explanation=f"{metric(case.suspect.metric).title} grows, and nothing that is counted explains it",
        fix="Halve the step until it stops growing; the half that grows has the cause.",
    )


def _bytes_per_step(case: Case, tensor_bytes: float, cause: str) -> float:
    """This suspect's own growth, so that nothing is counted twice; all of the heap's and the objects' where there is
    one suspect, and it is not tensors."""
    if case.suspect.in_uncollected:
        return case.suspect.growth.per_step  # where the collector runs, nothing grows
    metric_of = case.suspect.metric
    if metric(metric_of).unit == "bytes" and metric_of not in (*_NATIVE, "leak.bytes"):
        return case.suspect.growth.per_step
    if metric_of not in (*_NATIVE, "python.blocks"):
        return max(tensor_bytes, case.rate("heap.used")) if len(case.verdict.suspects) == 1 else tensor_bytes
    if cause == "python_objects" and (weighed := _weighed(case)) is not None:
        return weighed
    if len(case.verdict.suspects) == 1:
        return max(sum(case.rate(name) for name in _NATIVE), tensor_bytes)
    return case.suspect.growth.per_step


def _weighed(case: Case) -> float | None:
    """What Python's objects grow by a step where all of them are malloc'd, tensors taken off; None where nobody
    weighed them. Python's own statistics leave out what large objects take, and count by size class."""
    subject = case.recording.subject("malloc")
    series = subject.find("heap.used") if subject is not None and subject.ending.status == "ok" else None
    if subject is None or series is None:
        return None
    settled = series.since((subject.warmup_steps + subject.steps) // 2)
    if len(settled.steps) < _LEAST_TO_WEIGH:
        return None
    whole = robust_trend(np.asarray(settled.steps, dtype=float), np.asarray(settled.values, dtype=float)).slope
    left = whole - case.rate("leak.bytes")
    return left if left > 0 else None


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
        parameters=fault.parameters,
        reason=fault.reason,
        fingerprint=fingerprint(fault.fault, recording.scenario.path, frame, "fault"),
    )
