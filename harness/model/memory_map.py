"""What a process has mapped and what of it is resident, at both ends of the measured steps."""

from __future__ import annotations

import msgspec

__all__ = ["MemoryMap", "MemoryReading"]


class MemoryReading(msgspec.Struct, frozen=True, kw_only=True):
    """One look at all mappings and, beside it, at the allocators that live in them (bytes).

    ``anonymous`` is all private memory without a file: the heap, its arenas, large blocks, Python's arenas and whatever
    was mapped directly; not the stacks. ``heap_in_use`` and ``heap_free`` are malloc's small and middle blocks,
    ``heap_large_blocks`` the ones that have a mapping of their own, ``python_stacks`` what the interpreter
    maps for the frames of its threads.
    """

    step: int
    anonymous_mapped_bytes: int
    anonymous_resident_bytes: int
    file_mapped_bytes: int
    file_resident_bytes: int
    shared_mapped_bytes: int
    shared_resident_bytes: int
    stacks_mapped_bytes: int
    stacks_resident_bytes: int
    heap_in_use_bytes: int
    heap_free_bytes: int
    heap_large_blocks_bytes: int
    python_arenas_bytes: int
    python_in_use_bytes: int
    python_stacks_bytes: int = 0
    threads: int

    @property
    def resident_bytes(self) -> int:
        """All that is resident."""
        return (
            self.anonymous_resident_bytes
            + self.file_resident_bytes
            + self.shared_resident_bytes
            + self.stacks_resident_bytes
        )


class MemoryMap(msgspec.Struct, frozen=True, kw_only=True):
    """``first`` is the boundary that ends the warm-up, ``last`` the one that ends the last step."""

    first: MemoryReading
    last: MemoryReading
