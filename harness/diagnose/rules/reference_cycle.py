"""Garbage that only the collector can free, in a program that keeps the collector from it."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["reference_cycle"]


def reference_cycle(case: Case) -> Opinion | None:
    """Asked where the collector is off, or garbage was moved to its permanent generation."""
    subjects = case.recording.subjects
    frozen = max((s.frozen_growth for s in subjects), default=0)
    off = any(not s.collector_enabled for s in subjects)
    steps = max(s.steps for s in subjects)
    if frozen and frozen >= steps:
        return Opinion(
            cause="reference_cycle",
            explanation=(
                f"gc.freeze() moved {frozen} objects out of the collector's reach during {steps} steps; "
                "cycles that were already garbage then can never be freed"
            ),
            fix="Call gc.freeze() once, after set-up and after a gc.collect().",
        )
    if off and case.suspect.in_uncollected:
        return Opinion(
            cause="reference_cycle",
            explanation="each step makes reference cycles, and the collector, which alone could free them, is off",
            fix="Break the cycle (weakref, or clear the attribute), or call gc.collect() every so many steps.",
        )
    return None
