"""What native allocations were left behind over some steps, as memray saw it; judging it again needs no memray."""

from __future__ import annotations

import msgspec

from harness.model.allocation import Frame

__all__ = ["NativeRecord", "NativeSite"]


class NativeSite(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that one Python line allocated natively during the steps and that was alive after them.

    ``stack`` is that of the largest part, which has ``stack_bytes``. It begins with the allocator (``malloc``) and ends
    where Python was left; ``ctypes`` is its machinery.
    ``frames`` are the Python frames that entered it: the user's, innermost first, or all where none is the user's.
    """

    bytes: int
    allocations: int
    stack_bytes: int
    stack: tuple[str, ...]
    frames: tuple[Frame, ...]


class NativeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The largest sites of ``steps`` steps after the warm-up; ``absence`` says why there are none to be had."""

    steps: int = 0
    sites: tuple[NativeSite, ...] = ()
    absence: str | None = None
