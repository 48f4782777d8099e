"""A small view is kept, and with it the whole storage that it looks at."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_bytes

__all__ = ["view_keeps_storage"]

_LEAST_RATIO = 2.0


def view_keeps_storage(case: Case) -> Opinion | None:
    """Asked of survivors that can be seen to have at most half of their storage; and of kept tensors on memory that
    torch did not allocate, where the heap grows by much more than they show."""
    path = case.path
    if path is None:
        return None
    where = f" at {case.kept_at}" if case.kept_at else ""
    if path.visible_bytes is not None and path.bytes >= _LEAST_RATIO * max(1, path.visible_bytes):
        count = max(1, path.storages)
        share = f"{format_bytes(path.visible_bytes / count)} of {format_bytes(path.bytes / count)}"
        return Opinion(
            cause="view_keeps_storage",
            explanation=f"{case.holder} keeps views{where}: each shows {share}, and keeps the whole storage",
            fix=f"Keep a copy of the part instead: .clone() on what goes into {case.holder}.",
        )
    container = case.container
    if case.suspect.site is not None and case.suspect.metric == "leak.bytes":
        return None
    if (
        container is None
        or not container.element_tensors
        or case.suspect.metric not in ("heap.used", "rss.anon", "mapped.private")
    ):
        return None
    if case.suspect.growth.per_step < _LEAST_RATIO * container.bytes_per_step:
        return None
    return Opinion(
        cause="view_keeps_storage",
        explanation=(
            f"{case.holder} keeps tensors{where} on memory that torch did not allocate (numpy's, a buffer's), and "
            f"{case.amount} of it stays with them"
        ),
        fix=f"Keep a copy instead: .clone() on what goes into {case.holder} lets the whole buffer go.",
    )
