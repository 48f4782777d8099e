"""An examination for people: groups, one aligned line an answer, what to try below what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from harness.model.checkup import Check, Checkup, Status
from harness.render.console import to_text
from harness.render.escaped import cut
from harness.units import format_number_of

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["render"]

_MARKS: dict[Status, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("!", "yellow"),
    "problem": ("✗", "bold red"),
    "not_here": ("·", "dim"),
}
_LONGEST = 600


def render(checkup: Checkup, *, width: int = 100, color: bool = False, quiet: bool = False) -> str:
    """Text of *width* columns; *quiet* leaves only what is wrong and what is worth knowing."""
    shown = [check for check in checkup.checks if not quiet or check.status in ("problem", "note")]
    name_width = max((len(cut(check.name, 32)) for check in shown), default=0)
    blocks = [*_groups(shown, name_width), _summary(checkup)]
    return to_text(blocks, width=width, color=color)


def _groups(checks: Iterable[Check], name_width: int) -> Iterator[RenderableType]:
    for group, members in groupby(checks, key=lambda check: check.group):
        yield Text(group, style="bold")
        table = Table(box=None, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(width=3, justify="right")
        table.add_column(width=name_width, overflow="fold")
        table.add_column(ratio=1, overflow="fold")
        before = ""
        for check in members:
            table.add_row(*_row(check, before))
            before = check.name
        yield table
        yield Text("")


def _row(check: Check, before: str) -> tuple[Text, Text, Text]:
    """The mark, the name (once, where several answers in a row have it), the sentence with the help below it."""
    mark, style = _MARKS[check.status]
    dim = "dim" if check.status == "not_here" else ""
    says = Text(cut(check.says, _LONGEST), style=dim)
    if check.help and check.status != "ok":
        says.append("\n→ ", style=style)
        says.append(cut(check.help, _LONGEST), style="dim")
    name = "" if check.name == before else cut(check.name, 32)
    return Text(mark, style=style), Text(name, style=dim), says


def _summary(checkup: Checkup) -> Text:
    problems, notes = checkup.count("problem"), checkup.count("note")
    told = f"{checkup.count('ok')} well, {format_number_of(notes, 'note')}, {checkup.count('not_here')} not here."
    if problems:
        return Text.assemble((f"{format_number_of(problems, 'problem')}. ", "bold red"), told)
    return Text.assemble(("No problem. ", "bold green"), told)
