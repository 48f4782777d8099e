"""Experiments: subjects that only a first verdict asks for, each of which proves or weighs one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from harness.capture.client import ForkServer
from harness.capture.escalation import record_native
from harness.capture.scenario_file import ScenarioFile
from harness.capture.variant import Plan, record_experiment
from harness.diagnose import cut_orders, diagnose, needs_native_stacks
from harness.judge.detector import judge
from harness.judge.policy import DEFAULT
from harness.model.recording import Recording, SubjectRecord, Variant
from harness.model.verdict import Verdict

__all__ = ["Experiments"]

_MOST_CUTS = 2
_MOST_STEPS_TO_CUT = 96
_CUTTING_UNASKED_S = 2.0
"""Cutting is tried for the two largest findings, over so many steps; unasked only where it takes less than this."""

_STEPS_TO_WEIGH = 240
_WEIGHING_S = 4.0
"""Python's objects are weighed over so many steps, or as many as there is time for: lists grow by an eighth, and ever
more rarely."""

_MOST_STEPS_TO_REPEAT = 64
_REPEATING_S = 3.0
"""The same input is repeated for so many steps at most, and only where they take less than this."""


_BAD_READS = ("SIGSEGV", "SIGBUS")
"""How a process ends that read memory which is not there."""


class Experiments:
    """Those that one variant may be put to. *native* and *confirm* are the user's word: always, never, or None, which
    is where it pays and where it takes little."""

    def __init__(
        self,
        server: ForkServer,
        scenario: ScenarioFile,
        variant: Variant,
        *,
        plan: Plan,
        native: bool | None,
        confirm: bool | None,
        faults: bool,
        on_progress: Callable[[int, str], None],
    ) -> None:
        self._server, self._scenario, self._variant, self._plan = server, scenario, variant, plan
        self._native, self._confirm, self._faults, self._on_progress = native, confirm, faults, on_progress

    def asked_by(self, recording: Recording) -> Recording:
        """*recording* with the subjects that its verdict asks for; the caller judges all of it once more.

        What ended badly is left alone: it would end so again, and take its time for it. What crashed is run once more,
        to see what it read.
        """
        plain = recording.subject("plain")
        if plain is not None and plain.ending.signal in _BAD_READS:
            again = self._run("reads", max(1, plain.steps + 1 - self._plan.warmup))
            return msgspec.structs.replace(recording, subjects=(*recording.subjects, again))
        if any(subject.ending.status != "ok" for subject in recording.subjects if subject.role != "gradients"):
            return recording
        verdict = judge(recording, faults=self._faults)
        more = self._of_a_leak(recording, verdict) if verdict.outcome == "leak" else self._of_a_fill(recording, verdict)
        return msgspec.structs.replace(recording, subjects=(*recording.subjects, *more)) if more else recording

    def _of_a_leak(self, recording: Recording, verdict: Verdict) -> list[SubjectRecord]:
        findings, more = diagnose(recording, verdict), []
        if any(finding.cause == "python_objects" for finding in findings):
            steps = self._plan.steps or _affordable(recording.subjects[0], _STEPS_TO_WEIGH, _WEIGHING_S)
            more.append(self._run("malloc", steps))
        if self._native or (self._native is None and needs_native_stacks(findings)):
            more.append(self._run_natively())
        steps = self._steps_to_cut(recording)
        for order in cut_orders(recording, verdict)[:_MOST_CUTS] if steps else ():
            plan = msgspec.structs.replace(self._plan, steps=steps)
            more.append(
                record_experiment(
                    self._server, self._scenario, self._variant, "cut", plan=plan, on_progress=self._on_progress,
                    cut=order,
                )
            )  # fmt: skip
        return more

    def _of_a_fill(self, recording: Recording, verdict: Verdict) -> list[SubjectRecord]:
        """Steps that all have the same input, where something filled as if by new inputs. Its only use is as evidence
        for that look-alike: it is never asked where something leaks, nor judged itself."""
        plain = recording.subject("plain")
        candidates = [found for found in verdict.look_alikes if found.look_alike == "shape_cache"]
        if not candidates or plain is None or not plain.steps:
            return []
        steps = max(DEFAULT.least_steps, min(plain.steps - plain.warmup_steps, _MOST_STEPS_TO_REPEAT))
        return [self._run("repeated", steps)] if _takes_s(plain, steps) <= _REPEATING_S else []

    def _steps_to_cut(self, recording: Recording) -> int:
        """How many measured steps the cut takes; 0 where nobody wants it. Unasked, only where it takes little."""
        ledger = recording.subject("ledger")
        if self._confirm is False or ledger is None or not ledger.steps:
            return 0
        steps = max(DEFAULT.least_steps, min(ledger.steps - ledger.warmup_steps, _MOST_STEPS_TO_CUT))
        return steps if self._confirm or _takes_s(ledger, steps) <= _CUTTING_UNASKED_S else 0

    def _run(self, role: Literal["malloc", "repeated", "reads"], steps: int) -> SubjectRecord:
        plan = msgspec.structs.replace(self._plan, steps=steps)
        return record_experiment(
            self._server, self._scenario, self._variant, role, plan=plan, on_progress=self._on_progress
        )

    def _run_natively(self) -> SubjectRecord:
        return record_native(
            self._server, self._scenario, self._variant, plan=self._plan, on_progress=self._on_progress
        )


def _takes_s(subject: SubjectRecord, steps: int) -> float:
    """What *steps* measured steps took that subject, with its warm-up."""
    return (steps + subject.warmup_steps) * subject.elapsed_ns / max(1, subject.steps) / 1e9


def _affordable(subject: SubjectRecord, most: int, within_s: float) -> int:
    per_step_s = max(1e-6, _takes_s(subject, 0) / max(1, subject.warmup_steps))
    return max(DEFAULT.least_steps, min(most, int(within_s / per_step_s)))
