"""The processes that the subject started, and the memory that only they have."""

from __future__ import annotations

import psutil

__all__ = ["Children"]

_MOST = 32
"""Reading one child's unique memory costs milliseconds. Beyond so many the count alone tells the story."""


class Children:
    """Number of descendants, and their unique memory (USS): a forked worker's resident pages are mostly its
    parent's, and only USS shows the ones that it copied by touching them."""

    name = "children"
    metrics = ("children.count", "children.bytes")
    every = 4

    def __init__(self) -> None:
        self._process = psutil.Process()

    def absence(self) -> str | None:
        """None: works wherever psutil does."""
        return None

    def read(self, into: dict[str, int]) -> None:
        """A count (1 ms) and bytes (up to 5 ms a child)."""
        children = self._process.children(recursive=True)
        into["children.count"] = len(children)
        if len(children) <= _MOST:
            into["children.bytes"] = sum(_unique_bytes(child) for child in children)


def _unique_bytes(child: psutil.Process) -> int:
    try:
        return int(child.memory_full_info().uss)
    except (psutil.Error, OSError):
        return 0  # it ended between the listing and the reading, so it has no memory now
