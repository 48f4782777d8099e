"""What the exit code says, as one pure function of the report."""

from __future__ import annotations

from typing import Literal

from harness.model.report import Report, RunReport
from harness.render.view import standing

__all__ = ["AS_EXPECTED", "PRECEDENCE", "USAGE", "Strictness", "exit_code"]

Strictness = Literal["pass", "fail"]

AS_EXPECTED, UNEXPECTED, INTERRUPTED, INTERNAL, USAGE, NOTHING_MEASURED = 0, 1, 2, 3, 4, 5
INCONCLUSIVE, PROGRAM_FAILED = 10, 11

PRECEDENCE = (INTERNAL, USAGE, INTERRUPTED, PROGRAM_FAILED, UNEXPECTED, INCONCLUSIVE, NOTHING_MEASURED, AS_EXPECTED)
"""Where several apply, the first of these: what hides the rest comes before what it hides."""


def exit_code(report: Report, *, inconclusive: Strictness = "pass", known: Strictness = "pass") -> int:
    """The code for *report*; *inconclusive* and *known* say whether such runs fail the command."""
    standings = {standing(run) for run in report.runs}
    applies = {
        INTERNAL: bool(report.errors),
        USAGE: bool(report.problems) or any(_cannot_be_run(run) for run in report.runs),
        INTERRUPTED: report.interrupted,
        UNEXPECTED: "unexpected" in standings or ("known" in standings and known == "fail"),
        INCONCLUSIVE: "inconclusive" in standings and inconclusive == "fail",
        NOTHING_MEASURED: not report.runs,
        AS_EXPECTED: True,
    }
    return next(code for code in PRECEDENCE if applies.get(code, False))


def _cannot_be_run(run: RunReport) -> bool:
    return not run.started and run.ending.status != "interrupted"
