"""What a process can run out of besides memory: descriptors, threads, shared-memory files."""

from __future__ import annotations

import os
import sys

__all__ = ["Resources"]

_SHM = "/dev/shm"


class Resources:
    """Open descriptors, threads (Python's and native), and bytes in the machine's shared-memory file system.

    The last is the machine's, not the process's: a file whose maker has gone still takes memory, and that is
    the leak one looks for; other programs' files move it too, so it never stands as the only witness.
    """

    name = "resources"
    metrics = ("fds", "threads", "shm.bytes")
    every = 1

    def absence(self) -> str | None:
        """Counts come from /proc."""
        return None if sys.platform == "linux" else f"descriptors and threads need /proc, and this is {sys.platform}"

    def read(self, into: dict[str, int]) -> None:
        """Counts and bytes; about 30 us."""
        into["fds"] = len(os.listdir("/proc/self/fd")) - 1  # the listing itself has one open
        into["threads"] = len(os.listdir("/proc/self/task"))
        try:
            usage = os.statvfs(_SHM)
        except OSError:
            return
        into["shm.bytes"] = (usage.f_blocks - usage.f_bfree) * usage.f_frsize
