"""Looks at all mappings of the subject twice, and last of all has the C library give back what it holds free."""

from __future__ import annotations

import contextlib

import psutil

from harness.capture.held_signals import signals_held
from harness.instruments.mappings import Mappings
from harness.instruments.process import ProcessMemory
from harness.model.memory_map import MemoryMap, MemoryReading

__all__ = ["MemoryWatch"]

_LEAST_KEPT_BYTES = 1 << 20
"""Resident memory that grew by so much more than what is in use is worth the experiment."""

_heap_trim = getattr(psutil, "heap_trim", None)  # before a scenario can put something else in its place


class MemoryWatch:
    """``finish`` gives both readings, or None where one of them could not be taken; ``trimmed_bytes`` is how much
    resident memory a trim gave back, None where none was tried."""

    def __init__(self, mappings: Mappings) -> None:
        self.has_begun = False
        self.trimmed_bytes: int | None = None
        self._mappings = mappings
        self._first: MemoryReading | None = None
        self._kept_before = self._kept()

    @classmethod
    def where_possible(cls) -> MemoryWatch | None:
        """None where the mappings or the allocators in them cannot be read."""
        mappings = Mappings()
        return cls(mappings) if mappings.absence() is None else None

    def begin(self, step: int) -> None:
        """The reading that growth is counted from. Taken twice: the first one leaves its own buffers behind."""
        self.has_begun = True
        self._read(step)
        self._first = self._read(step)

    def finish(self, step: int) -> MemoryMap | None:
        """The reading at the end; then the trim, where resident memory grew and what is in use did not."""
        last = self._read(step)
        if self._kept() - self._kept_before >= _LEAST_KEPT_BYTES:
            self._trim()
        return MemoryMap(first=self._first, last=last) if self._first is not None and last is not None else None

    def _read(self, step: int) -> MemoryReading | None:
        with signals_held(), contextlib.suppress(OSError, ValueError):  # no descriptor left, /proc out of reach
            return self._mappings.read(step)
        return None

    def _trim(self) -> None:
        if _heap_trim is None:
            return
        before = _resident()
        _heap_trim()
        self.trimmed_bytes = max(0, before - _resident())

    def _kept(self) -> int:
        """Anonymous pages that no allocator has in use."""
        return _resident() - self._mappings.in_use()


def _resident() -> int:
    values: dict[str, int] = {}
    with contextlib.suppress(OSError):
        ProcessMemory().read(values)
    return values.get("rss.anon", 0)
