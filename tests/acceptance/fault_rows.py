"""The form of a row: one file that misbehaves, and what must come of it."""

from __future__ import annotations

import msgspec

__all__ = ["Row"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One file that misbehaves."""

    name: str
    source: str
    outcome: str
    ending: str
    exit_code: int
    says: str = ""
    started: bool = True
