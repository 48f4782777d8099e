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
    holder_known = case.path is not None and case.path.root_kind in ("module", "class", "local", "thread")
    if frozen and frozen >= steps and not holder_known:
        return Opinion(
            cause="reference_cycle",
            explanation=(
                f"gc.freeze() moved {frozen} objects out of the collector's reach during {steps} steps; "
                f"cycles that were already garbage then can never be freed{_cycle(case)}"
            ),
            fix="Call gc.freeze() once, after set-up and after a gc.collect().",
        )
    if off and case.suspect.in_uncollected:
        return Opinion(
            cause="reference_cycle",
            explanation=(
                "each step makes reference cycles, and the collector, which alone could free them, is off"
                f"{_cycle(case)}"
            ),
            fix="Break the cycle (weakref, or clear the attribute), or call gc.collect() every so many steps.",
        )
    return None


def _cycle(case: Case) -> str:
    path = case.path
    if path is None or path.root_kind != "cycle":
        return ""
    round_about = path.root.partition(" (")[2].removesuffix(")")
    return (
        f": {path.links[0].text if path.links else 'it'} leads back to itself by {round_about}" if round_about else ""
    )
