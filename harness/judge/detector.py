"""A recording to a verdict: health first, then the channels and their witnesses, then everything else."""

from __future__ import annotations

import msgspec

from harness.judge.assessment import Assessment, Evidence, assess_recording
from harness.judge.bounds import bounded_by_themselves, says_unbounded
from harness.judge.faults import fault_note, is_expected, split_faults
from harness.judge.growth import Movement
from harness.judge.health import ledger_problem
from harness.judge.look_alikes import look_alikes
from harness.judge.movements import OUTSIDE_HEAP
from harness.judge.policy import DEFAULT, Policy
from harness.judge.sequential import open_question
from harness.judge.suspects import suspects_of
from harness.judge.uncollected import late_collection
from harness.judge.witnesses import Claim, Doubt, examine
from harness.judge.wording import grew, plain_flat, stopped
from harness.model.recording import FaultRecord, Recording
from harness.model.series import Growth
from harness.model.verdict import LookAlike, Outcome, Suspect, Verdict

__all__ = ["judge"]

_TENSOR_METRICS = ("leak.bytes", "leak.tensors", "peak.tensors", "allocations.step", "graph.nodes")
_TOLD_WHEN_STABLE = ("leak.bytes", "heap.used", "python.bytes", "rss.anon", "fds", "threads", "children.count")


def judge(recording: Recording, policy: Policy = DEFAULT, *, faults: bool = False) -> Verdict:
    """Decide about one variant. *faults*: also faults that torch did not raise decide. Never raises for bad data:
    what cannot be judged is ``failed`` or ``inconclusive``, with the reason."""
    deciding, others = split_faults(recording, faults=faults)
    evidence = assess_recording(recording, policy)
    claims, doubts = examine(evidence, policy)
    collection = late_collection(evidence, policy)
    if isinstance(collection, Claim):
        claims = (*claims, collection)
    claims, filling = bounded_by_themselves(claims, recording, policy)
    outcome, reasons = _outcome(recording, evidence, claims, doubts, deciding, policy)
    suspects, early = _early(recording, policy) if outcome == "inconclusive" else ((), ())
    alike = (*filling, *look_alikes(evidence, policy, leaks=outcome == "leak"))
    if isinstance(collection, LookAlike):
        alike = (collection, *alike)
    return Verdict(
        outcome=outcome,
        final=_final(evidence, outcome, policy),
        reasons=(*reasons, *early),
        warmup_steps=evidence.main.warmup_steps if evidence.main is not None else 0,
        growth=_growth(evidence),
        suspects=suspects_of(claims, evidence, policy) if outcome == "leak" else suspects,
        look_alikes=alike,
        faults=deciding,
        notes=_notes(evidence, others, policy),
    )


def _early(recording: Recording, policy: Policy) -> tuple[tuple[Suspect, ...], tuple[str, ...]]:
    """Suspects of a run that was too short for a verdict: survivors are counted exactly, also over few steps."""
    if all(max(s.steps - s.warmup_steps, 0) >= policy.least_steps for s in recording.subjects):
        return (), ()
    soon = msgspec.structs.replace(policy, least_steps=policy.least_steps_to_suspect)
    evidence = assess_recording(recording, soon)
    claims = tuple(c for c in examine(evidence, soon)[0] if c.metric == "leak.bytes")
    claims, _ = bounded_by_themselves(claims, recording, soon)
    if not claims:
        return (), ()
    return suspects_of(claims, evidence, soon), (f"a suspect already: {claims[0].reasons[0]}",)


def _outcome(
    recording: Recording,
    evidence: Evidence,
    claims: tuple[Claim, ...],
    doubts: tuple[Doubt, ...],
    deciding: tuple[FaultRecord, ...],
    policy: Policy,
) -> tuple[Outcome, tuple[str, ...]]:
    expected = [f for f in deciding if is_expected(f, recording.scenario.expected)]
    if expected:
        return "fault", tuple(f.explanation for f in expected)
    ending = _bad_ending(evidence, recording)
    if claims:
        still_open = () if says_unbounded(claims, recording) else _still_open(claims, policy)
        return "leak", (*(r for c in claims for r in c.reasons), *still_open, *ending)
    if deciding:
        return "fault", (*(f.explanation for f in deciding), *ending)
    main = evidence.main
    if main is None:
        return "failed", ending or ("nothing was measured: no subject came to its first step",)
    if ending and not main.sound:
        return "failed", (*ending, *main.problems)
    if not main.sound:
        return "inconclusive", main.problems
    if doubts:
        return "inconclusive", (*(d.reason for d in doubts), *ending)
    return "stable", (*_why_stable(evidence), *ending)


def _still_open(claims: tuple[Claim, ...], policy: Policy) -> tuple[str, ...]:
    """Said of a leak that was seen for less than its horizon: more steps could still make it a cache."""
    seen, horizon = max((claim.movement.span + 1, policy.horizon(claim.metric)) for claim in claims)
    if seen >= horizon:
        return ()
    reason = f"it was seen for only {seen} steps, and a cache that still fills looks the same: --steps {horizon} tells"
    return (reason,)


def _bad_ending(evidence: Evidence, recording: Recording) -> tuple[str, ...]:
    main = evidence.main
    subject = main.subject if main is not None else next(iter(recording.subjects), None)
    if subject is None or subject.ending.status == "ok":
        return ()
    lines = (subject.ending.detail or "").strip().splitlines()
    detail = f": {lines[-1]}" if lines else ""
    return (f"the {subject.role} subject ended badly after {subject.steps} steps ({subject.ending.status}){detail}",)


def _why_stable(evidence: Evidence) -> tuple[str, ...]:
    reasons = []
    for metric in _TOLD_WHEN_STABLE:
        movement = _movements(evidence).get(metric)
        if movement is not None and movement.growth.trend == "bounded":
            reasons.append(stopped(movement))
        elif movement is not None and metric in ("leak.bytes", "heap.used", "python.bytes"):
            reasons.append(plain_flat(movement))
    return tuple(reasons)


def _movements(evidence: Evidence) -> dict[str, Movement]:
    """The counters of the main subject, the tensors of the ledger's."""
    main = evidence.main.movements if evidence.main is not None else {}
    found = {metric: main[metric] for metric in main if metric != OUTSIDE_HEAP}
    if evidence.ledger is not None:
        found |= {m: evidence.ledger.movements[m] for m in evidence.ledger.movements if m in _TENSOR_METRICS}
    return found


def _growth(evidence: Evidence) -> dict[str, Growth]:
    return {metric: movement.growth for metric, movement in _movements(evidence).items()}


def _final(evidence: Evidence, outcome: Outcome, policy: Policy) -> bool:
    if outcome in ("fault", "failed"):
        return True
    assessed: list[Assessment] = [a for a in (evidence.plain, evidence.ledger, evidence.uncollected) if a is not None]
    return all(open_question(a, policy) is None for a in assessed)


def _notes(evidence: Evidence, others: tuple[FaultRecord, ...], policy: Policy) -> tuple[str, ...]:
    notes = [fault_note(f) for f in others]
    for assessment in (evidence.ledger, evidence.uncollected):
        if assessment is not None and assessment is not evidence.main:
            notes += assessment.problems
            if assessment.subject.ending.status != "ok":
                notes.append(f"the {assessment.subject.role} subject ended badly: {assessment.subject.ending.status}")
    if evidence.ledger is not None:
        problem = ledger_problem(evidence.ledger.subject)
        notes += [problem] if problem else []
    small = _movements(evidence).get("python.bytes")
    if (
        small is not None
        and small.growth.low >= policy.least_noted_bytes_per_step
        and small.growth.per_step < policy.least_bytes_per_step
        and small.p <= policy.block_p
    ):
        notes.append(f"{grew(small)}: below the {policy.least_bytes_per_step:.0f} B/step that count as a leak")
    return tuple(notes)
