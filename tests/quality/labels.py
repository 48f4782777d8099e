"""What the author of a labelled case says of it: the literal ``EXPECT`` of its file, read without running it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Label", "quoted", "read_label"]


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """Is ``step`` a leak (``fixed_step`` never is), from which of these causes, where, held by what, how much?

    ``lines`` are pieces of source lines of which any one will do. ``look_alikes`` are empty where none need be told.
    ``bytes_per_step`` is None where it is not stated, or stated as approximate. ``second`` is another leak beside it.
    """

    leak: bool
    causes: tuple[str, ...]
    channel: str
    look_alikes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    holder: str = ""
    bytes_per_step: float | None = None
    second: Label | None = None


def read_label(path: Path) -> Label | None:
    """The file's ``EXPECT``; None where it has none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "EXPECT" for t in node.targets):
            return _label(ast.literal_eval(node.value))
    return None


def _label(expect: dict[str, Any]) -> Label:
    leak = bool(expect.get("leak", True))
    lines = (expect.get("line_contains"), *expect.get("also_ok", ()))
    measured = leak and expect.get("bytes_per_step") and not expect.get("no_bytes_check")
    second = expect.get("second")
    return Label(
        leak=leak,
        causes=_several(expect.get("cause", "none")),
        channel=str(expect.get("channel", "none")),
        look_alikes=tuple(name for name in _several(expect.get("look_alike", ())) if name != "none"),
        lines=tuple(line for line in lines if line),
        holder=str(expect.get("holder", "")),
        bytes_per_step=float(expect["bytes_per_step"]) if measured else None,
        second=_label(second) if second else None,
    )


def _several(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def quoted(holder: str) -> tuple[str, ...]:
    """The names that *holder* has in single quotes: ``"module global 'seen' (list)"`` has one."""
    return tuple(re.findall(r"(?<!\w)'([^']+)'(?!\w)", holder))
