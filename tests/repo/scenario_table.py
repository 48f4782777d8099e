"""README's table of the bundled scenarios, from one run of them all.

harness run --format json | python -m tests.repo.scenario_table
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from harness.capture.scenario_source import look
from harness.model.codec import decode_report
from harness.model.report import Report, RunReport
from harness.units import format_rate, format_ratio

__all__ = ["HEADING", "said", "table"]

HEADING = (
    "| scenario | pitfall | `step` is expected to be | and was found to be | title |\n| --- | --- | --- | --- | --- |"
)


def said(path: Path) -> tuple[str, str, str, str]:
    """What the file says of itself: its link, its pitfall's id, its expectation as it is written, its title."""
    text = path.read_text()
    pitfall = re.split("[:,]", ast.get_docstring(ast.parse(text)) or "")[0]
    expected = re.search(r"^    expect=(.*),$", text, re.MULTILINE)
    link = f"[{path.stem}](scenarios/{path.name})"
    return link, pitfall, f"`{expected[1] if expected else ''}`", look(path.read_bytes()).title


def table(report: Report, scenarios: list[Path]) -> str:
    """The whole table, a line a scenario, in the order of *scenarios*."""
    steps = {run.scenario: run for run in report.runs if run.variant == "step"}
    rows = []
    for path in scenarios:
        link, pitfall, expected, title = said(path)
        rows.append(f"| {link} | {pitfall} | {expected} | {_found(steps[path.stem])} | {title} |")
    return "\n".join((HEADING, *rows)) + "\n"


def _found(run: RunReport) -> str:
    """In a few words, with the figure that a reader would look for."""
    if run.findings:
        first = run.findings[0]
        if first.fault is not None:
            return f"fault: {first.reason.replace('_', ' ')}" if first.reason else "fault"
        return f"leak, {format_rate(first.bytes_per_step)}"
    comparison = run.comparison
    if comparison is not None and run.expected.at_least is not None:
        ratio, word = {
            "slower": (comparison.throughput_ratio, "the time"),
            "higher_peak": (comparison.peak_ratio, "the peak"),
            "more_allocations": (comparison.allocation_ratio, "the allocations"),
        }[run.expected.kind]
        return f"{format_ratio(ratio)} {word}" if ratio is not None else run.outcome
    return run.outcome


if __name__ == "__main__":
    from tests.repo.source_tree import scenario_files

    made = decode_report(sys.stdin.buffer.read(), origin="stdin")
    sys.stdout.write(table(made, list(scenario_files())))
