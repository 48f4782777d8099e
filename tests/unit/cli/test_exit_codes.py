"""The exit code is a pure function of the report."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cli.exit_codes import exit_code
from harness.model.recording import Ending
from harness.model.report import Problem, Report
from tests.report_builder import a_finding, a_leak, a_report, a_run

PROBLEM = Problem(target="x", message="y", help="z")
KNOWN = a_leak("known", findings=(a_finding(known={"what": "x"}),))
UNSURE = a_leak("unsure", outcome="inconclusive", findings=())
STOPPED = a_run("stopped", outcome="failed", as_expected=False, started=False, ending=Ending(status="interrupted"))
UNRUN = a_run("unrun", outcome="failed", as_expected=False, started=False)


@pytest.mark.parametrize(
    ("report", "strict", "code"),
    [
        (a_report(a_run()), {}, 0),
        (a_report(a_run(), a_leak()), {}, 1),
        (a_report(a_run(outcome="failed", as_expected=False)), {}, 1),
        (a_report(a_leak(as_expected=True)), {}, 0),
        (a_report(UNSURE), {}, 0),
        (a_report(UNSURE), {"inconclusive": "fail"}, 10),
        (a_report(KNOWN), {}, 0),
        (a_report(KNOWN), {"known": "fail"}, 1),
        (a_report(), {}, 5),
        (a_report(UNRUN), {}, 4),
        (a_report(a_run(), problems=(PROBLEM,)), {}, 4),
        (a_report(a_run(), errors=(PROBLEM,)), {}, 3),
        (a_report(interrupted=True), {}, 2),
        (a_report(STOPPED, interrupted=True), {}, 2),
    ],
)
def test_each_report_has_its_code(report: Report, strict: dict[str, Any], code: int) -> None:
    assert exit_code(report, **strict) == code


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (a_report(a_leak(), UNRUN, problems=(PROBLEM,), errors=(PROBLEM,), interrupted=True), 3),
        (a_report(a_leak(), UNSURE, UNRUN, problems=(PROBLEM,), interrupted=True), 4),
        (a_report(a_leak(), UNSURE, interrupted=True), 2),
        (a_report(a_leak(), UNSURE), 1),
        (a_report(UNSURE), 10),
    ],
)
def test_where_several_apply_the_worse_news_wins(report: Report, code: int) -> None:
    assert exit_code(report, inconclusive="fail", known="fail") == code
