"""What an accelerator's caching allocator knows of itself: statistics and history, read at step boundaries.

Nothing here makes a device ready for use: a process that has not touched one is told so (None), and is left alone. The
history is torch's own and bounded by it. Four figures stay apart, since they answer different questions: *allocated*
(tensors), *reserved* (held by the allocator), *inactive* (held, split off, and of no use for larger requests), and what
the *device* has in use for all processes together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from harness.ledger.sites import is_users_file
from harness.model.allocation import Frame

__all__ = ["AcceleratorLedger", "AcceleratorMemory", "Backend", "DeviceBlock", "PinnedMemory", "blocks_in"]

_MOST_ENTRIES = 100_000
"""Events that torch is asked to keep: a few hundred bytes each, on the host."""


class AcceleratorMemory(msgspec.Struct, frozen=True, kw_only=True):
    """One device at one moment. ``device_used_bytes`` counts every process's; None where the driver does not tell."""

    device: str
    allocated_bytes: int
    allocated_peak_bytes: int
    reserved_bytes: int
    inactive_bytes: int
    device_used_bytes: int | None
    device_total_bytes: int | None

    @property
    def outside_bytes(self) -> int | None:
        """What the device has in use beyond this allocator: contexts, libraries, other processes."""
        return None if self.device_used_bytes is None else max(0, self.device_used_bytes - self.reserved_bytes)


class PinnedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Page-locked memory of the host: in use by tensors, and held by its allocator altogether (rounded to powers of
    two)."""

    active_bytes: int
    held_bytes: int


class DeviceBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One block that is allocated now, with the user's frames where the history was on when it was made."""

    device: str
    address: int
    bytes: int
    frames: tuple[Frame, ...]


class Backend(Protocol):
    """What is asked of torch.cuda, torch.xpu or a script that stands in for them."""

    kind: str

    def is_initialized(self) -> bool:
        """Whether the process uses a device already. Asking must not change that."""

    def device_count(self) -> int:
        """How many devices there are; asked only once one is in use."""

    def statistics(self, index: int) -> Mapping[str, int]:
        """The allocator's flat statistics (``allocated_bytes.all.current`` and so on)."""

    def free_and_total(self, index: int) -> tuple[int, int] | None:
        """The driver's own figures for the whole device, or None."""

    def pinned_statistics(self) -> Mapping[str, int]:
        """The pinned host allocator's flat statistics (``active_bytes.current`` and so on); empty if it has none."""

    def keep_history(self, most_entries: int | None) -> None:
        """Keep the stacks of allocations from here on; None stops."""

    def snapshot(self) -> Mapping[str, Any] | None:
        """The allocator's segments with their blocks, or None where there is no such thing."""


class AcceleratorLedger:
    """Reads one backend. :meth:`read` and :meth:`blocks` give nothing as long as no device is in use.

    History starts with the first reading after the process began to use a device: blocks from before have no frames.
    """

    def __init__(self, backend: Backend, *, depth: int = 8, keep_history: bool = False) -> None:
        self._backend = backend
        self._depth = depth
        self._wants_history = keep_history
        self._has_history = False

    def read(self) -> tuple[AcceleratorMemory, ...]:
        """Every device's figures, in order of their numbers; empty while no device is in use."""
        if not self._backend.is_initialized():
            return ()
        if self._wants_history and not self._has_history:
            self._has_history = True
            self._backend.keep_history(_MOST_ENTRIES)
        return tuple(self._read(index) for index in range(self._backend.device_count()))

    def read_pinned(self) -> PinnedMemory | None:
        """The pinned host memory; None while no device is in use."""
        if not self._backend.is_initialized():
            return None
        statistics = self._backend.pinned_statistics()
        return PinnedMemory(
            active_bytes=statistics.get("active_bytes.current", 0),
            held_bytes=statistics.get("allocated_bytes.current", 0),
        )

    def blocks(self) -> tuple[DeviceBlock, ...]:
        """The blocks that are allocated now; empty while no device is in use."""
        if not self._backend.is_initialized():
            return ()
        snapshot = self._backend.snapshot()
        return () if snapshot is None else blocks_in(snapshot, kind=self._backend.kind, depth=self._depth)

    def stop(self) -> None:
        """Let torch drop the history, if it was asked to keep one. Stopping twice is no error."""
        if self._has_history:
            self._has_history = self._wants_history = False
            self._backend.keep_history(None)

    def _read(self, index: int) -> AcceleratorMemory:
        statistics = self._backend.statistics(index)
        on_device = self._backend.free_and_total(index)
        return AcceleratorMemory(
            device=f"{self._backend.kind}:{index}",
            allocated_bytes=statistics.get("allocated_bytes.all.current", 0),
            allocated_peak_bytes=statistics.get("allocated_bytes.all.peak", 0),
            reserved_bytes=statistics.get("reserved_bytes.all.current", 0),
            inactive_bytes=statistics.get("inactive_split_bytes.all.current", 0),
            device_used_bytes=None if on_device is None else on_device[1] - on_device[0],
            device_total_bytes=None if on_device is None else on_device[1],
        )


def blocks_in(snapshot: Mapping[str, Any], *, kind: str, depth: int = 8) -> tuple[DeviceBlock, ...]:
    """The allocated blocks of a snapshot in torch's form, live or recorded; fields that are missing are taken as empty.

    A block whose memory was freed but not yet given back (``active_pending_free``) is not allocated.
    """
    found = []
    for segment in _mappings(snapshot.get("segments")):
        address = _number(segment.get("address"))
        for block in _mappings(segment.get("blocks")):
            size = _number(block.get("size"))
            if block.get("state") == "active_allocated":
                found.append(
                    DeviceBlock(
                        device=f"{kind}:{_number(segment.get('device'))}",
                        address=_number(block.get("address", address)),
                        bytes=_number(block.get("requested_size", size)),
                        frames=_frames(block, depth),
                    )
                )
            address += size  # older torch gives no address a block: they lie one behind the other
    return tuple(found)


def _frames(block: Mapping[str, Any], depth: int) -> tuple[Frame, ...]:
    history = _mappings(block.get("history"))
    frames = block.get("frames") or next((entry.get("frames") for entry in history), None)
    users = [
        Frame(path=str(f["filename"]), line=_number(f.get("line")), function=str(f.get("name", "?")))
        for f in _mappings(frames)
        if isinstance(f.get("filename"), str) and f["filename"].endswith(".py") and is_users_file(f["filename"])
    ]
    return tuple(users[:depth])


def _mappings(values: object) -> Iterable[Mapping[str, Any]]:
    return [v for v in values if isinstance(v, Mapping)] if isinstance(values, Sequence) else []


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
