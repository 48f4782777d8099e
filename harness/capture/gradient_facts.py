"""Follows the gradients of a scenario's steps, in a subject of their own: slow, so for a short time only."""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.capture.fault_table import fault_of
from harness.gradients.watch import GradientWatch
from harness.model.gradients import GradientTable
from harness.model.recording import FaultRecord

__all__ = ["GradientFacts"]

_LEAST_STEPS, _ENOUGH_STEPS = 2, 12

_clock = time.monotonic  # before a scenario can put something else in its place


class GradientFacts:
    """*told* is called with the number of each step that has ended, and how long it took in nanoseconds."""

    def __init__(self, told: Callable[[int, int], None]) -> None:
        self._watch = GradientWatch()
        self._told = told
        self._raised: tuple[FaultRecord, ...] = ()

    def follow(self, step: Callable[[int], object], *, steps: int, longest_s: float, wanted: str | None) -> None:
        """Run up to *steps* steps, none of which begins after *longest_s*; the first two always run. They end early
        where *wanted* is seen, the fault that somebody waits for. What a step raises comes through, once its faults are
        noted."""
        began = _clock()
        with self._watch:
            for i in range(steps):
                if i >= _LEAST_STEPS and _clock() - began > longest_s:
                    break
                before = _clock()
                try:
                    step(i)
                except Exception as error:
                    self._raised = self._faults_of(error, i)
                    raise
                self._told(i, int((_clock() - before) * 1e9))
                self._watch.step()
                if wanted is not None and i + 1 >= _ENOUGH_STEPS and self._has(wanted):
                    break

    @property
    def faults(self) -> tuple[FaultRecord, ...]:
        """Of all steps; what a step raised comes first."""
        return (*self._raised, *self._watch.faults)

    @property
    def table(self) -> GradientTable | None:
        """Norms and trends, where there was a gradient."""
        return self._watch.table

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is no fault and still worth saying."""
        return self._watch.remarks

    def _has(self, wanted: str) -> bool:
        return any(fault.fault == wanted for fault in self._watch.faults)

    def _faults_of(self, error: Exception, step: int) -> tuple[FaultRecord, ...]:
        known = fault_of(error, step)
        if known is not None:
            return (self._watch.explained(known, error),)
        missing = self._watch.null_read(error)
        return (missing,) if missing is not None else ()
