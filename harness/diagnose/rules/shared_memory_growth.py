"""Shared memory that fills: tensors moved there and kept, or files that outlive their makers."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_rate

__all__ = ["shared_memory_growth"]


def shared_memory_growth(case: Case) -> Opinion | None:
    """Asked of resident shared pages and of the shared-memory file system."""
    if case.suspect.metric not in ("shm.bytes", "rss.shared"):
        return None
    return Opinion(
        cause="shared_memory_growth",
        explanation=f"shared memory grows by {format_rate(case.suspect.growth.per_step)}{case.and_keeper}",
        fix="Publish into one preallocated shared tensor (copy_), and drop shared tensors that were consumed.",
    )
