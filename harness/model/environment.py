"""What the figures depend on: machine, versions, thread count."""

from __future__ import annotations

import msgspec

__all__ = ["Environment", "Tool"]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """Which build of this tool wrote a file."""

    name: str
    version: str


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The subject's surroundings. ``memory_bytes`` is the machine's; versions are plain strings."""

    python: str
    torch: str | None
    platform: str
    cpu_count: int
    torch_threads: int | None
    memory_bytes: int
    seed: int
