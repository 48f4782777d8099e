"""Threads that are started and never end: each keeps its stack and what its frames hold."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["thread_growth"]


def thread_growth(case: Case) -> Opinion | None:
    """Asked of the thread count, Python and native, and of what the frames of ever more threads hold."""
    in_frames = case.grows("threads") and case.path is not None and case.path.root.startswith("thread ")
    if case.suspect.metric != "threads" and not in_frames:
        return None
    frame = f"; they wait in {case.path.root}" if case.path is not None and case.path.root.startswith("thread ") else ""
    started = f", begun at {case.kept_at}" if case.kept_at else ""
    return Opinion(
        cause="thread_growth",
        explanation=(
            f"each step leaves {case.rate('threads'):.3g} thread(s) alive{started}{frame}: "
            "a blocked thread keeps its stack and every local of its frames"
        ),
        fix="Give the thread a way to stop and join it, or use one pool of a fixed size for all steps.",
    )
