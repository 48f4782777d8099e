"""Paths from the root: what a report names in CI is in the repository, and not on the machine that measured."""

from __future__ import annotations

import pytest

from harness.model.allocation import Frame
from harness.model.peak import PeakPart
from harness.model.recording import Ending
from harness.render import render
from harness.render.from_root import from_root
from tests.report_builder import a_finding, a_leak, a_report, a_run

AWAY = "/home/me/"  # where the finding of a_leak() lies: /home/me/work/train.py, which the report calls work/train.py


def test_the_folder_that_the_tool_ran_in_is_left_out_of_sentences_and_frames() -> None:
    told = "/home/me/parts/log.py:3 grew (see /home/me/parts/log.py)"
    finding = a_finding(explanation=told, fix=told, retained_at=(Frame(path="/home/me/x.py", line=1, function="f"),))
    own = a_finding()
    part = PeakPart(role="other", bytes=1, storages=1, allocated_at=own.allocated_at)
    run = a_leak(findings=(own, finding), reasons=(told,), notes=(told,), peak_parts=(part,))

    (shown,) = from_root(a_report(run)).runs

    mended = "parts/log.py:3 grew (see parts/log.py)"
    assert shown.reasons == shown.notes == (mended,)
    assert (shown.findings[1].explanation, shown.findings[1].fix) == (mended, mended)
    assert shown.findings[1].retained_at[0].path == "x.py"
    assert shown.findings[0].allocated_at[0].path == shown.peak_parts[0].allocated_at[0].path == "work/train.py"


def test_a_run_that_names_no_file_of_its_own_ran_where_the_others_did() -> None:
    failed = a_run(outcome="failed", as_expected=False, ending=Ending(status="raised", detail='File "/home/me/a.py"'))

    shown = from_root(a_report(a_leak(), failed)).runs[1]

    assert shown.ending.detail == 'File "a.py"'


def test_the_end_of_a_longer_path_is_not_the_folder() -> None:
    run = a_leak(notes=("/mnt/home/me/x.py and /home/mean/x.py",))

    assert from_root(a_report(run)).runs[0].notes == run.notes


def test_where_the_folder_is_not_known_nothing_changes() -> None:
    report = a_report(a_run(), a_leak(findings=()))

    assert from_root(report) == report


@pytest.mark.parametrize("name", ["markdown", "junit", "sarif", "github"])
def test_no_format_for_reviewers_names_the_machines_folders(name: str) -> None:
    elsewhere = (Frame(path="/home/me/parts/log.py", line=3, function="note", source="log.append(x)"),)
    finding = a_finding(explanation="see /home/me/parts/log.py:3", retained_at=elsewhere)
    report = a_report(a_leak(findings=(finding,), reasons=("from /home/me/work/train.py:12",)))

    shown = render(report, name)

    assert AWAY not in shown
    assert "parts/log.py:3" in shown
