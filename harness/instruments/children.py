"""The processes that the subject started, and their memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import psutil

__all__ = ["Children"]

_MOST = 32
"""Reading one child's unique memory costs milliseconds. Beyond so many the count alone tells the story."""


class Children:
    """Number of descendants, the memory that only they have (USS), and their resident anonymous pages.

    A forked worker's resident pages are mostly its parent's, and only USS tells which are its own. It rises when the
    worker copies a page by touching it, and also when the *parent* does, for then the old page is the worker's alone.
    Both leave the resident pages as many as they were: what the worker allocates itself adds to them.
    """

    name = "children"
    metrics = ("children.count", "children.bytes", "children.resident")
    every = 4

    def __init__(self) -> None:
        self._process = psutil.Process()

    def absence(self) -> str | None:
        """None: works wherever psutil does."""
        return None

    def read(self, into: dict[str, int]) -> None:
        """A count (30 us where the kernel lists children, else 1 ms) and bytes (up to 5 ms a child)."""
        children = self._children()
        into["children.count"] = len(children)
        if len(children) <= _MOST:
            memory = [_memory(child) for child in children]
            into["children.bytes"] = sum(unique for unique, _ in memory)
            into["children.resident"] = sum(anonymous for _, anonymous in memory)

    def _children(self) -> list[psutil.Process]:
        """All descendants. psutil reads every process of the machine for them; Linux knows each thread's children."""
        if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            return self._process.children(recursive=True)
        found = []
        for pid in _below(os.getpid()):
            with contextlib.suppress(psutil.Error):
                found.append(psutil.Process(pid))
        return found


def _below(pid: int) -> Iterator[int]:
    waiting = [pid]
    for parent in waiting:
        try:
            threads = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue  # it has ended
        for thread in threads:
            with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                waiting += (int(child) for child in file.read().split())
    yield from waiting[1:]


def _memory(child: psutil.Process) -> tuple[int, int]:
    """Unique and resident anonymous bytes."""
    try:
        info = child.memory_full_info()
    except (psutil.Error, OSError):
        return 0, 0  # it ended between the listing and the reading, so it has no memory now
    return int(info.uss), int(info.rss - getattr(info, "shared", 0))
