"""What a process can run out of besides memory: descriptors, threads, shared-memory files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

__all__ = ["Resources", "SharedFiles"]

_SHM = "/dev/shm"


class SharedFiles:
    """Bytes in the machine's shared-memory file system, as far as they come and go with this program's steps.

    A file whose maker has gone still takes memory, and that is the leak one looks for; so no process can be asked for
    it. But other programs fill the same file system, and they do so between our steps as well: what it grows by there,
    reckoned up for all the time, is taken off. (What it shrinks by between steps is the program's own: a loader's
    workers let go of batches when they come to it.) *used* tells its bytes, or raises OSError; *clock* the time in
    nanoseconds.
    """

    def __init__(self, used: Callable[[], int], clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._used, self._clock = used, clock
        self._start: int | None = None
        self._level = self._at = 0
        self._within = self._between = 0
        self._within_ns = self._between_ns = 0

    def begin_step(self) -> None:
        """A step is about to run: what came since the last reading is others'."""
        if self._start is None:
            return
        grown, took_ns = self._since()
        self._between += grown
        self._between_ns += took_ns

    def read(self) -> int:
        """Bytes: those at the first reading, and what the steps since have added."""
        if self._start is None:
            self._level, self._at = self._used(), self._clock()
            self._start = self._level
            return self._start
        grown, took_ns = self._since()
        self._within += grown
        self._within_ns += took_ns
        others = 0.0
        if self._between > 0 and self._between_ns:
            others = self._between * (self._within_ns + self._between_ns) / self._between_ns
        return max(0, round(self._start + self._within + self._between - others))

    def _since(self) -> tuple[int, int]:
        level, at = self._used(), self._clock()
        grown, took_ns = level - self._level, at - self._at
        self._level, self._at = level, at
        return grown, took_ns


def _used_by_all() -> int:
    usage = os.statvfs(_SHM)
    return (usage.f_blocks - usage.f_bfree) * usage.f_frsize


class Resources:
    """Open descriptors, threads (Python's and native), and bytes in the machine's shared-memory file system."""

    name = "resources"
    metrics = ("fds", "threads", "shm.bytes")
    every = 1

    def __init__(self) -> None:
        self._shared = SharedFiles(_used_by_all)

    def absence(self) -> str | None:
        """Counts come from /proc."""
        return None if sys.platform == "linux" else f"descriptors and threads need /proc, and this is {sys.platform}"

    def begin_step(self) -> None:
        """A step is about to run; 2 us."""
        try:
            self._shared.begin_step()
        except OSError:
            return

    def read(self, into: dict[str, int]) -> None:
        """Counts and bytes; about 30 us."""
        into["fds"] = len(os.listdir("/proc/self/fd")) - 1  # the listing itself has one open
        into["threads"] = len(os.listdir("/proc/self/task"))
        try:
            into["shm.bytes"] = self._shared.read()
        except OSError:
            return
