"""The report as Markdown, for a comment on a pull request or the summary of a job.

What was not expected stands first and open, the rest is folded. It is cut at what a comment on GitHub may hold (65,536
characters; a step's summary may hold 1 MiB), and says then what was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.model.report import Problem, Report, RunReport
from harness.render.escaped import cut
from harness.render.facts import Fact, brief, finding_facts, run_facts
from harness.render.from_root import from_root
from harness.render.heading import heading
from harness.render.markdown_text import code, code_cell, fenced, folded, table, text
from harness.render.places import main_place, run_place
from harness.render.plain import problem_text
from harness.render.view import (
    closing,
    expected_words,
    growth_words,
    outcome_words,
    run_title,
    standing,
    verdict_words,
)

__all__ = ["render"]

_MOST_CHARACTERS = 65_000
_MOST_IN_A_TABLE = 20_000
_MOST_FINDINGS = 6
_MARKS = {"expected": "✓", "unexpected": "✗", "inconclusive": "?", "known": "~"}
_AS_CODE = ("allocated", "kept at", "natively", "held by", "curve", "next")


def render(report: Report) -> str:
    """GitHub-flavoured Markdown, at most 65,000 characters, ending in a newline."""
    report = from_root(report)
    told = [run for run in report.runs if standing(run) != "expected"]
    expected = [run for run in report.runs if standing(run) == "expected"]
    parts = [f"### {_mark(report)} Memory: {text(closing(report))}"]
    if told:
        parts.append(_overview(told))
    last = f"<sub>{text(heading(report))}</sub>"
    room = _MOST_CHARACTERS - sum(len(part) + 2 for part in (*parts, last)) - 300
    left_out: dict[str, int] = {}
    for kind, section in _sections(report, told, expected):
        if len(section) + 2 > room:
            left_out[kind] = left_out.get(kind, 0) + 1
            continue
        room -= len(section) + 2
        parts.append(section)
    if left_out:
        parts.append(_left_out(left_out))
    return "\n\n".join((*parts, last)) + "\n"


def _mark(report: Report) -> str:
    counts = [standing(run) for run in report.runs]
    if "unexpected" in counts or report.problems or report.errors or not counts:
        return _MARKS["unexpected"]
    if "inconclusive" in counts or report.interrupted:
        return _MARKS["inconclusive"]
    return _MARKS["known"] if "known" in counts else _MARKS["expected"]


def _sections(report: Report, told: Sequence[RunReport], expected: Sequence[RunReport]) -> Iterator[tuple[str, str]]:
    """The parts that may be left out, what matters most first, each with the word for what it is about."""
    for problem in (*report.errors, *report.problems):
        yield "problem", _problem(problem)
    for run in sorted(told, key=lambda run: standing(run) != "unexpected"):
        yield "run", _in_full(run)
    if expected:
        yield (
            "table of the runs that ended as expected",
            folded(f"{len(expected)} as expected", _overview(expected, found=True)),
        )


def _left_out(counts: dict[str, int]) -> str:
    parts = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    return (
        f"**Left out, for length: {', '.join(parts)}.** `harness report RUN --format terminal` shows all of a run that "
        "was kept with `--out`."
    )


def _overview(runs: Sequence[RunReport], *, found: bool = False) -> str:
    """One row a run; of those that ended as expected with what was found, of the others with where to look."""
    headings = ("", "scenario", "outcome", "expected", "growth a step", "found" if found else "line")
    rows: list[tuple[str, ...]] = []
    room = _MOST_IN_A_TABLE
    for run in runs:
        row = _row(run, found)
        room -= sum(len(cell) + 3 for cell in row)
        if room < 0:
            break
        rows.append(row)
    more = len(runs) - len(rows)
    return table(headings, rows) + (f"\n\n… and {more} more." if more else "")


def _row(run: RunReport, found: bool) -> tuple[str, ...]:
    if found:
        last = text(cut("; ".join(brief(run)), 300)) or "-"
    else:
        place = main_place(run.findings[0], run) if run.findings else run_place(run)
        last = code_cell(cut(place.path if place.line is None else f"{place.path}:{place.line}", 200))
    return (
        _MARKS[standing(run)],
        text(run_title(run)),
        outcome_words(run),
        text(expected_words(run.expected)),
        text(growth_words(run).removesuffix("/step")),
        last,
    )


def _in_full(run: RunReport) -> str:
    blocks = [f"#### {_MARKS[standing(run)]} {text(run_title(run))}: {text(verdict_words(run))}"]
    if run.title:
        blocks.append(text(cut(run.title, 200)))
    whole = list(run_facts(run))
    curve = [fact for fact in whole if fact.label == "curve"]
    for number, finding in enumerate(run.findings[:_MOST_FINDINGS]):
        blocks.append(_list((*finding_facts(finding, run), *(curve if number == 0 else ()))))
    if len(run.findings) > _MOST_FINDINGS:
        blocks.append(f"and {len(run.findings) - _MOST_FINDINGS} more findings: `--format json` has all of them.")
    rest = [fact for fact in whole if not (run.findings and fact.label == "curve")]
    # Without a finding the reasons are all that there is, so they are not hidden.
    blocks.append(folded("More about this run", _list(rest)) if run.findings else _list(rest))
    return "\n\n".join(blocks)


def _list(facts: Iterable[Fact]) -> str:
    lines = []
    for fact in facts:
        told = code(fact.text) if fact.label in _AS_CODE else text(fact.text)
        lines.append(f"- **{fact.label}:** {told}" if fact.label else f"- {told}")
        if fact.verbatim:
            lines.append(fenced(fact.verbatim, indent="  "))
    return "\n".join(lines)


def _problem(problem: Problem) -> str:
    message, rest = problem_text(problem.message, problem.help)
    return f"#### ✗ {text(cut(problem.target, 200))}: {text(message)}\n\n{fenced(rest.splitlines())}"
