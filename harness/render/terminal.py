"""The report as text for a terminal: a table to see at a glance, then in full only what was not expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.model.report import Problem, Report, RunReport
from harness.render.console import to_text
from harness.render.escaped import cut, escaped, tail
from harness.render.facts import Fact, brief, finding_facts, run_facts
from harness.render.heading import heading
from harness.render.throughput import HEADINGS, throughput_rows
from harness.render.view import (
    closing,
    expected_words,
    growth_words,
    outcome_words,
    run_title,
    speed_words,
    standing,
    verdict_words,
)

__all__ = ["render"]

_MARKS = {
    "expected": ("✓", "green"),
    "unexpected": ("✗", "red"),
    "inconclusive": ("?", "yellow"),
    "known": ("~", "yellow"),
}
_COLUMNS = {
    "": 0, "scenario": 0, "variant": 0, "outcome": 0, "expected": 70, "growth/step": 0, "steps": 80, "speed": 96,
}  # fmt: skip
"""The summary's columns, and the width from which on each is shown: a narrow terminal gets fewer, not broken ones."""
_NUMBERS = ("growth/step", "steps", "speed")
_MOST_FINDINGS = 6
_MOST_TRACE_LINES = 40


def render(report: Report, *, width: int = 100, color: bool = False) -> str:
    """*report* for a terminal of *width* columns; without *color* the text holds no escape sequence at all."""
    return to_text(_blocks(report, width), width=width, color=color)


def _blocks(report: Report, width: int) -> Iterable[RenderableType]:
    yield Text(heading(report), style="dim")
    if report.runs:
        yield Group("", _summary(report.runs, width))
    for run in report.runs:
        if standing(run) != "expected":
            yield Group("", _in_full(run))
    expected = [run for run in report.runs if standing(run) == "expected"]
    told = [(run, lines) for run in expected if (lines := tuple(brief(run)))]
    if told:
        yield Group("", Text("Found, as expected", style="bold"), _grid([(run_title(r), _lines(ls)) for r, ls in told]))
    rows = throughput_rows(report.runs)
    if rows:
        yield Group("", Text("Throughput", style="bold"), _throughput(rows))
    notes = _notes(expected)
    if notes:
        yield Group("", Text("Notes", style="bold"), _grid(notes))
    for problem in report.problems:
        yield Group("", _problem(problem))
    for error in report.errors:
        yield Group("", _error(error))
    yield Group("", Text(closing(report), style="bold"))


def _summary(runs: Sequence[RunReport], width: int) -> Table:
    kept = [name for name, least_width in _COLUMNS.items() if width >= least_width]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
    for name in kept:
        if name == "scenario":
            table.add_column(name, overflow="fold", min_width=12)
        else:
            table.add_column(name, no_wrap=True, justify="right" if name in _NUMBERS else "left", min_width=len(name))
    before = None
    for run in runs:
        mark, style = _MARKS[standing(run)]
        cells = {
            "": Text(mark, style=style),
            "scenario": Text("" if run.path == before else cut(run.scenario, 64)),
            "variant": Text(run.variant),
            "outcome": Text(outcome_words(run), style="" if standing(run) == "expected" else style),
            "expected": Text(expected_words(run.expected, short=True)),
            "growth/step": Text(growth_words(run).removesuffix("/step")),
            "steps": Text(f"{run.steps:,}"),
            "speed": Text(speed_words(run)),
        }
        table.add_row(*(cells[name] for name in kept))
        before = run.path
    return table


def _in_full(run: RunReport) -> RenderableType:
    mark, style = _MARKS[standing(run)]
    title = Text.assemble((f"{mark} {run_title(run)}", f"bold {style}"), ": ", (verdict_words(run), style))
    blocks: list[RenderableType] = [title]
    if run.title:
        blocks.append(Padding(Text(cut(run.title, 200), style="italic"), (0, 0, 0, 2)))
    for finding in run.findings[:_MOST_FINDINGS]:
        blocks += [_facts(finding_facts(finding, run)), ""]
    if len(run.findings) > _MOST_FINDINGS:
        blocks += [f"  and {len(run.findings) - _MOST_FINDINGS} more findings: --format json shows all of them", ""]
    return Group(*blocks, _facts(run_facts(run)))


def _facts(facts: Iterable[Fact]) -> RenderableType:
    return _grid([(fact.label, _fact(fact)) for fact in facts], columns=10)


def _fact(fact: Fact) -> RenderableType:
    style = {"fix": "green", "next": "cyan", "cause": "bold", "fault": "bold", "curve": ""}.get(fact.label, "")
    verbatim = [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in fact.verbatim]
    return Group(Text(fact.text, style=style, overflow="fold"), *verbatim)


def _grid(rows: Iterable[tuple[str, RenderableType]], *, columns: int | None = None) -> RenderableType:
    """Labels on the left, and beside them what they label, which wraps in its own column."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=columns, style="dim", max_width=40, overflow="fold")
    grid.add_column(overflow="fold", ratio=1)
    for label, shown in rows:
        grid.add_row(label, shown)
    return Padding(grid, (0, 0, 0, 2))


def _lines(lines: Iterable[str]) -> Group:
    return Group(*(Text(line, overflow="fold") for line in lines))


def _throughput(rows: Sequence[tuple[str, ...]]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for k, title in enumerate(HEADINGS):
        table.add_column(title, justify="left" if k < 2 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return Padding(table, (0, 0, 0, 2))


def _notes(runs: Iterable[RunReport]) -> list[tuple[str, RenderableType]]:
    """What runs that ended as expected note: the same note of many runs once."""
    seen: dict[str, list[RunReport]] = {}
    for run in runs:
        for note in dict.fromkeys(run.notes):
            seen.setdefault(note, []).append(run)
    rows: list[tuple[str, RenderableType]] = []
    before = ""
    for note, where in seen.items():
        label = run_title(where[0]) if len(where) == 1 else f"{len(where)} runs"
        rows.append(("" if label == before else label, Text(cut(note, 1000), overflow="fold")))
        before = label
    return rows


def _error(error: Problem) -> RenderableType:
    """A failure of the tool itself, whose message may end in a traceback."""
    first, _, rest = error.message.partition("\n")
    title = Text.assemble(("✗ ", "bold red"), (cut(f"{error.target}: {first}", 1000), "red"))
    trace = [Padding(Text(line), (0, 0, 0, 2)) for line in tail(rest, _MOST_TRACE_LINES)]
    return Group(title, *trace, Padding(Text(escaped(error.help), style="green"), (0, 0, 0, 2)))


def _problem(problem: Problem) -> RenderableType:
    title = Text.assemble(("✗ ", "bold red"), (cut(problem.message, 1000), "red"))
    return Group(title, Padding(Text(escaped(problem.help), style="green"), (0, 0, 0, 2)))
