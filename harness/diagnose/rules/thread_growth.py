"""Threads that are started and never end: each keeps its stack and what its frames hold."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.diagnose.holders import is_per_thread
from harness.units import format_bytes

__all__ = ["thread_growth"]


def thread_growth(case: Case) -> Opinion | None:
    """Asked of the thread count, Python and native, and of what ever more threads hold: in their frames, or in what a
    threading.local keeps for each."""
    path = case.path
    of_threads = path is not None and (path.root.startswith("thread ") or is_per_thread(path))
    if case.suspect.metric != "threads" and not (of_threads and case.grows("threads")):
        return None
    frame = f"; they wait in {case.path.root}" if case.path is not None and case.path.root.startswith("thread ") else ""
    started = f", begun at {case.kept_at}" if case.kept_at else ""
    return Opinion(
        cause="thread_growth",
        explanation=(
            f"each step leaves {case.rate('threads'):.3g} thread(s) alive{started}{frame}: "
            f"a blocked thread keeps its stack and every local of its frames{_for_each_thread(case)}"
        ),
        fix="Give the thread a way to stop and join it, or use one pool of a fixed size for all steps.",
    )


def _for_each_thread(case: Case) -> str:
    """What a threading.local makes anew for each thread; empty where there is no such thing."""
    sites = case.held.sites if case.held is not None else {}
    kept = 0.0
    for suspect in case.verdict.suspects:
        ways = sites.get(suspect.site.site, ()) if suspect.site is not None else ()
        if ways and is_per_thread(ways[0]) and suspect.site_growth is not None:
            kept += suspect.site_growth.per_step
    if not kept or not case.rate("threads"):
        return ""
    return (
        f"; a threading.local keeps {format_bytes(kept / case.rate('threads'))} for each new thread, "
        "which no further call in the same thread adds to"
    )
