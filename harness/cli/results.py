"""Where a rendered report goes beside stdout: a job's summary, and what a format has no place for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli import printing

if TYPE_CHECKING:
    from harness.model.report import Report

__all__ = ["print_report", "print_troubles"]


def print_report(report: Report, format: str, *, quiet: bool = False) -> None:
    """*report* on stdout; where that is ``--format github`` inside a job of GitHub's, its Markdown in the summary too.

    Naming the format is what asks for it: no other format writes anything (https://docs.github.com/actions,
    ``GITHUB_STEP_SUMMARY``).
    """
    from harness.render import render

    color, width = printing.has_color(sys.stdout), printing.width(sys.stdout)
    printing.print_result(render(report, format, width=width, color=color))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if format == "github" and summary:
        _add_to_summary(Path(summary), render(report, "markdown"), quiet=quiet)


def print_troubles(report: Report, format: str) -> None:
    """What could not be measured, on stderr where stdout cannot say it: errors of the tool beside all but the
    terminal's format, what was not found beside those that are figures only."""
    from harness.render import FIGURES_ONLY

    for problem in report.problems if format in FIGURES_ONLY else ():
        printing.print_error(problem.message, problem.help)
    for error in report.errors if format != "terminal" else ():
        printing.print_error(f"{error.target}: {error.message}", error.help)


def _add_to_summary(path: Path, text: str, *, quiet: bool) -> None:
    """A summary that cannot be written is told and changes no exit code: the verdict stands on stdout already."""
    from harness.errors import UsageError
    from harness.output import append_summary

    try:
        wrote = append_summary(path, text)
    except UsageError as error:
        printing.print_error(str(error), error.help)
    else:
        if not quiet:
            printing.tell(wrote)
