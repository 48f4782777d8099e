"""All mappings of this process by kind, and the allocators' own figures at the same moment: milliseconds, so twice."""

from __future__ import annotations

import mmap
import os
import re
import resource
import sys
from collections.abc import Callable

from harness.instruments.heap import Heap
from harness.instruments.pyobjects import PythonBytes
from harness.model.memory_map import MemoryReading

__all__ = ["Mappings", "sum_up"]

_RANGE = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ *([^\n]*)$", re.MULTILINE)
_RSS = re.compile(rb"^Rss: +(\d+) kB$", re.MULTILINE)
_SHARED = re.compile(rb"/dev/shm/|/memfd:|/dev/zero|/SYSV|\[anon_shmem:")
_MOST_TEXT = 4 << 20
"""Some 5,000 mappings. A text that is cut off has as many ranges as sizes, or is refused."""

_FRAMES_BYTES = 16 << 10
"""What the interpreter maps for the frames of a thread at first (CPython 3.11 to 3.14); deep recursion takes more."""

_threads_of_python = sys._current_frames
_MOST_GUARD_BYTES = 64 << 10
_PAGE = resource.getpagesize()
_PRESENT = 1 << 63
_KINDS = ("anonymous", "file", "shared", "stacks")


class Mappings:
    """Reads ``/proc/self/smaps``, malloc's and Python's own figures."""

    def __init__(self) -> None:
        self._heap = Heap()
        self._python = PythonBytes()
        limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
        self._stack_bytes = limit if 0 < limit < 1 << 30 else 2 << 20  # what glibc gives a thread

    def absence(self) -> str | None:
        """Only Linux tells the mappings, only glibc what is in them."""
        if sys.platform != "linux":
            return f"the mappings need /proc, and this is {sys.platform}"
        return self._heap.absence() or self._heap.details_absence()

    def read(self, step: int) -> MemoryReading:
        """Now; about 10 ms with torch loaded. ``OSError`` where the kernel does not tell."""
        # What is told must not change meanwhile, and a large block that malloc maps and frees would change from which
        # size on it maps the program's own: so the text gets a mapping of its own, the same at each reading.
        room, length = memoryview(mmap.mmap(-1, _MOST_TEXT, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)), 0
        with open("/proc/self/smaps", "rb", buffering=0) as smaps:
            while length < _MOST_TEXT and (count := smaps.readinto(room[length:])):
                length += count
        heap = self._heap.details()
        arenas, in_use = self._python.arenas()
        return MemoryReading(
            step=step,
            **sum_up(room[:length], stack_bytes=self._stack_bytes, resident=_resident),
            heap_in_use_bytes=heap.in_use,
            heap_free_bytes=heap.free,
            heap_large_blocks_bytes=heap.large_blocks,
            python_arenas_bytes=arenas,
            python_in_use_bytes=in_use,
            python_stacks_bytes=len(_threads_of_python()) * _FRAMES_BYTES,
            threads=len(os.listdir("/proc/self/task")),
        )

    def in_use(self) -> int:
        """Bytes that malloc and Python's allocator have handed out."""
        heap = self._heap.details()
        return heap.in_use + heap.large_blocks + self._python.arenas()[1]


def sum_up(smaps: bytes | memoryview, *, stack_bytes: int, resident: Callable[[int, int], int]) -> dict[str, int]:
    """Bytes mapped and resident by kind, from the text of smaps(5).

    A thread's stack is the *stack_bytes* above a guard that nobody may touch. What the kernel has merged with it lies
    above, and *resident* (of an address to an address) says how much of the stack itself is there.
    """
    sizes = {f"{kind}_{what}_bytes": 0 for kind in _KINDS for what in ("mapped", "resident")}

    def add(kind: str, mapped: int, in_memory: int) -> None:
        sizes[f"{kind}_mapped_bytes"] += mapped
        sizes[f"{kind}_resident_bytes"] += in_memory

    guard_end = 0
    for place, rss in zip(_RANGE.finditer(smaps), _RSS.finditer(smaps), strict=True):
        start, end, rights, name = int(place[1], 16), int(place[2], 16), place[3], place[4]
        size, in_memory = end - start, int(rss[1]) * 1024
        if not name and rights == b"---p":
            guard_end = end if size <= _MOST_GUARD_BYTES else 0
            add("anonymous", 0, in_memory)
            continue
        kind = _kind(rights, name)
        if kind == "anonymous" and guard_end == start and rights.startswith(b"rw"):
            own = min(size, stack_bytes)
            of_stack = in_memory if own == size else min(in_memory, resident(start, start + own))
            add("stacks", own, of_stack)
            size, in_memory = size - own, in_memory - of_stack
        add(kind, size, in_memory)
    return sizes


def _kind(rights: bytes, name: bytes) -> str:
    if name == b"[stack]":
        return "stacks"
    if _SHARED.match(name):
        return "shared"
    if not name or name == b"[heap]" or name.startswith(b"[anon"):
        return "shared" if rights.endswith(b"s") else "anonymous"
    return "file"


def _resident(start: int, end: int) -> int:
    """Resident bytes between two addresses, from pagemap (one word a page)."""
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        pagemap.seek(start // _PAGE * 8)
        words = memoryview(pagemap.read((end - start) // _PAGE * 8)).cast("Q")
    return sum(1 for word in words if word & _PRESENT) * _PAGE
