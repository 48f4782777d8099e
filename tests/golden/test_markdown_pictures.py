"""Whole reports as they stand in a comment. Whoever changes the picture on purpose changes it here too."""

from __future__ import annotations

from harness.model.expectation import Expectation
from harness.model.report import Problem
from harness.render.markdown import render
from tests.golden.test_terminal_pictures import picture
from tests.report_builder import a_finding, a_leak, a_report, a_run


def test_a_leak_that_nobody_expected_stands_open_and_the_rest_is_folded() -> None:
    leak = Expectation(kind="leak", cause="held_reference")
    report = a_report(
        a_leak(notes=("the dispatch ledger ran: other threads are unseen",)),
        a_run("held_reference", outcome="leak", expected=leak, findings=(a_finding(),)),
        a_run("tidy", variant="fixed_step"),
        elapsed_s=12.5,
    )

    assert render(report) == picture("""
""")


def test_what_could_not_be_measured_is_told_before_all_else() -> None:
    report = a_report(
        a_run("unclear", outcome="inconclusive", as_expected=False, reasons=("too few steps",)),
        problems=(Problem(target="gone.py", message="gone.py: not there", help="Is it spelt right?"),),
        errors=(Problem(target="lost.py::step", message="measuring failed:\nKeyError: 1", help="Report it."),),
        interrupted=True,
    )

    assert render(report) == picture("""
""")
