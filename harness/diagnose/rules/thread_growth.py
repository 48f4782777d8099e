"""Threads that are started and never end: each keeps its stack and what its frames hold."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["thread_growth"]


def thread_growth(case: Case) -> Opinion | None:
    """Asked of the thread count, Python and native."""
    if case.suspect.metric != "threads":
        return None
    return Opinion(
        cause="thread_growth",
        explanation=(
            f"each step leaves {case.suspect.growth.per_step:.3g} thread(s) alive; "
            f"a blocked thread keeps its stack and every local of its frames{case.and_keeper}"
        ),
        fix="Give the thread a way to stop and join it, or use one pool of a fixed size for all steps.",
    )
