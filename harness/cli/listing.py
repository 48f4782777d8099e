"""Scenarios as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from harness.capture.scenario_file import ScenarioFile
from harness.render.console import to_text
from harness.render.escaped import cut
from harness.render.view import expected_words

__all__ = ["render_listing"]

_LONGEST_CAUSE = len("(autograd_graph_retained)")


def render_listing(scenarios: Sequence[ScenarioFile], *, width: int = 100, color: bool = False) -> str:
    """Name, what is expected of ``step``, tags and title of each; below them, how many there are."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
    table.add_column("name", overflow="fold", ratio=4)
    table.add_column("expected of step", overflow="fold", width=_LONGEST_CAUSE)
    table.add_column("tags", overflow="fold", ratio=3)
    table.add_column("title", overflow="fold", ratio=6)
    for scenario in scenarios:
        cells = (scenario.name, expected_words(scenario.expected), ", ".join(scenario.tags), scenario.title)
        table.add_row(*(Text(cut(cell, 200)) for cell in cells))
    count = f"{len(scenarios)} {'scenario' if len(scenarios) == 1 else 'scenarios'}."
    return to_text([table, Text(""), Text(count, style="bold")], width=width, color=color)
