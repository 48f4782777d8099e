"""A console of rich's that writes into a string and takes nothing from the environment."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType

__all__ = ["to_text"]

_LEAST_WIDTH = 60


def to_text(blocks: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """*blocks* one below the other as text of *width* columns (60 at least); without *color* no escape sequences."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(width, _LEAST_WIDTH),
        color_system="standard" if color else None,
        force_terminal=color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},  # the caller decides on width and color, not COLUMNS and NO_COLOR behind its back
    )
    for block in blocks:
        console.print(block)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
