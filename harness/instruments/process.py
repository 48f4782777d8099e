"""The process as the kernel sees it: resident pages by kind, and private address space."""

from __future__ import annotations

import contextlib
import sys

import psutil

__all__ = ["ProcessMemory", "UniqueMemory", "read_status"]

_FIELDS = {
    b"RssAnon": "rss.anon",
    b"RssFile": "rss.file",
    b"RssShmem": "rss.shared",
    b"VmData": "mapped.private",
}


def read_status() -> bytes:
    """``/proc/self/status``, opened afresh: a descriptor kept open could be closed, and reused, by the scenario."""
    with open("/proc/self/status", "rb", buffering=0) as status:
        return status.read(8192)


class ProcessMemory:
    """Resident pages split into anonymous, file-backed and shared, and the private writable address space.

    They must be split: pinned memory and batches from workers are shared pages, a scanned file is page cache,
    and neither is a leak of this process. Source: proc(5).
    """

    name = "process"
    metrics = ("rss.anon", "rss.file", "rss.shared", "mapped.private")
    every = 1

    def absence(self) -> str | None:
        """Only Linux tells the kinds apart."""
        if sys.platform != "linux":
            return f"resident pages by kind need /proc, and this is {sys.platform}"
        return None

    def read(self, into: dict[str, int]) -> None:
        """Bytes; about 40 us."""
        for line in read_status().split(b"\n"):
            field, _, rest = line.partition(b":")
            name = _FIELDS.get(field)
            if name is not None:
                into[name] = int(rest.split()[0]) * 1024


class UniqueMemory:
    """Pages that only this process has (USS). The kernel walks every mapping for it: 4-5 ms with torch loaded."""

    name = "unique"
    metrics = ("rss.unique",)
    every = 32

    def __init__(self) -> None:
        self._process = psutil.Process()

    def absence(self) -> str | None:
        """None where psutil can ask for it; a reading that is refused is left out."""
        return None if hasattr(self._process, "memory_full_info") else "unique memory cannot be read here"

    def read(self, into: dict[str, int]) -> None:
        """Bytes."""
        with contextlib.suppress(psutil.Error, OSError):
            into["rss.unique"] = self._process.memory_full_info().uss
