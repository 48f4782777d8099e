"""Generators, coroutines and tasks that were begun and never finished: each keeps all its locals."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["suspended_frame"]

_WORDS = {"generator": "generators", "coroutine": "coroutines", "task": "tasks or futures"}


def suspended_frame(case: Case) -> Opinion | None:
    """Asked of what is kept behind a frame that waits to be resumed. A container that grows inside one such frame is
    that container's fault."""
    link = next((link for link in case.kept if link.trait in _WORDS), None)
    if link is None:
        return None
    words = _WORDS[link.trait]
    local = next((k.name for k in case.kept if k.name.startswith("local ")), "its locals")
    where = f" at {case.kept_at}" if case.kept_at else ""
    return Opinion(
        cause="suspended_frame",
        explanation=f"{case.holder} keeps suspended {words}{where}; each keeps its frame, with {local}",
        fix=(
            f"Run each to its end, or close it: generator.close(), task.cancel() and await it; drop it from "
            f"{case.holder} then. A with block (contextlib.closing) does so on every way out."
        ),
    )
