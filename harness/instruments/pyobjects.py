"""Small Python objects: how many blocks are in use, and how many bytes they take."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["PythonBlocks", "PythonBytes"]

_SIZE_CLASS = re.compile(rb"^ +\d+ +(\d+) +\d+ +(\d+) +\d+$", re.MULTILINE)
"""A line of the allocator's own statistics: class, size, pools, blocks in use, blocks free."""

_ARENAS = re.compile(rb"^(\d+) arenas \* (\d+) bytes/arena", re.MULTILINE)


class PythonBlocks:
    """Blocks that Python's allocators have handed out (``sys.getallocatedblocks``)."""

    name = "pyobjects"
    metrics = ("python.blocks",)
    every = 1

    def absence(self) -> str | None:
        """Only some interpreters count them."""
        return None if sys.getallocatedblocks() else "this interpreter does not count its memory blocks"

    def read(self, into: dict[str, int]) -> None:
        """A count; 20-70 us with torch loaded."""
        into["python.blocks"] = sys.getallocatedblocks()


class PythonBytes:
    """Exact bytes of the blocks in use, from the interpreter's own statistics, written to memory and parsed.

    ``sys._debugmallocstats`` prints them to stderr, which is the scenario's; the C function behind it takes any
    ``FILE *``, and open_memstream(3) gives one that no descriptor and no other thread can see.
    """

    name = "pybytes"
    metrics = ("python.bytes",)
    every = 4

    def __init__(self) -> None:
        self._libc: Any = ctypes.CDLL(None)
        if hasattr(self._libc, "open_memstream"):
            self._libc.open_memstream.restype = ctypes.c_void_p  # an int would cut the pointer in half
        self._print: Callable[[ctypes.c_void_p], int] | None = getattr(
            ctypes.pythonapi, "_PyObject_DebugMallocStats", None
        )

    def absence(self) -> str | None:
        """Needs CPython's own small-object allocator and a C library that writes to memory."""
        if self._print is None or not hasattr(self._libc, "open_memstream"):
            return "this interpreter does not tell the sizes of its memory blocks"
        if not self._bytes_in_use():
            return "Python's small-object allocator is off (PYTHONMALLOC): its objects are in the C heap"
        return None

    def read(self, into: dict[str, int]) -> None:
        """Bytes; about 250 us."""
        into["python.bytes"] = self._bytes_in_use()

    def arenas(self) -> tuple[int, int]:
        """Bytes of all arenas, and what of them is in use; zeros where the allocator is off or does not tell."""
        if self._print is None or not hasattr(self._libc, "open_memstream"):
            return 0, 0
        statistics = self._statistics()
        arenas = _ARENAS.search(statistics)
        return int(arenas[1]) * int(arenas[2]) if arenas else 0, _in_use(statistics)

    def _bytes_in_use(self) -> int:
        return _in_use(self._statistics())

    def _statistics(self) -> bytes:
        assert self._print is not None
        text, size = ctypes.c_void_p(), ctypes.c_size_t()
        stream = ctypes.c_void_p(self._libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
        if not stream:
            return b""
        self._print(stream)
        self._libc.fclose(stream)
        statistics = ctypes.string_at(text.value or 0, size.value) if text else b""
        self._libc.free(text)
        return statistics


def _in_use(statistics: bytes) -> int:
    return sum(int(m[1]) * int(m[2]) for m in _SIZE_CLASS.finditer(statistics))
