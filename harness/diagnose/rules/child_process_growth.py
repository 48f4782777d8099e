"""More and more processes, or processes that grow: workers that nobody ends."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_rate

__all__ = ["child_process_growth"]


def child_process_growth(case: Case) -> Opinion | None:
    """Asked of the descendants: their number, and the memory that only they have."""
    if case.suspect.metric == "children.count":
        explanation = f"each step leaves {case.suspect.growth.per_step:.3g} process(es) running{case.and_keeper}"
        fix = "Build the DataLoader or pool once, outside the step; or end it: shut it down, or leave its with block."
    elif case.suspect.metric == "children.bytes":
        explanation = f"the processes that it started grow by {format_rate(case.suspect.growth.per_step)}"
        fix = "Look for what the worker keeps: a list or cache in the Dataset grows once in every worker."
    else:
        return None
    return Opinion(cause="child_process_growth", explanation=explanation, fix=fix)
