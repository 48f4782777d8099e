"""Kept exceptions: each holds its traceback, the traceback its frames, and the frames all their locals."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["exception_traceback"]


def exception_traceback(case: Case) -> Opinion | None:
    """Asked of what is kept behind a traceback."""
    if not case.keeps("traceback"):
        return None
    local = next((link.name for link in case.kept if link.name.startswith("frame of")), "the frames")
    where = f" at {case.kept_at}" if case.kept_at else ""
    return Opinion(
        cause="exception_traceback",
        explanation=(
            f"{case.holder} keeps exceptions{where}; each keeps its traceback, and through it {local}, which has what "
            f"{case.place} allocated"
        ),
        fix=(
            f"Keep the text and not the exception: {case.holder} needs repr(error) or traceback.format_exc(); or call "
            "error.with_traceback(None), and traceback.clear_frames() first where the exception must stay."
        ),
    )
