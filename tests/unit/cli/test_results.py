"""Formats for CI on the command line: what goes to stdout, to stderr and to a job's summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.report import Problem
from harness.output import append_summary, write_run
from harness.render import FIGURES_ONLY, FORMATS, render
from tests.report_builder import a_leak, a_report, a_run


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves run in a job of GitHub's."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    path.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_and_a_kept_run_print_the_same_in_every_format(harness: Any, faked: Any, name: str) -> None:
    faked(a_leak())
    first = harness("run", "train.py", "--format", name, "--out", "kept")

    again = harness("report", "kept", "--format", name)

    assert first.code == 1
    assert (again.code, again.err) == (0, "")
    assert first.out == again.out == render(a_report(a_leak()), name, width=108)


def test_in_a_job_the_github_format_adds_the_report_to_its_summary(harness: Any, faked: Any, summary: Path) -> None:
    faked(a_leak())

    code, out, err = harness("run", "train.py", "--format", "github")

    assert code == 1
    assert out.startswith("::error file=work/train.py,line=12,")
    assert summary.read_text() == "# before\n" + render(a_report(a_leak()), "markdown")
    assert err.splitlines()[-1] == f"Added the report to the job's summary, {summary}"


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "github"])
def test_no_other_format_writes_to_the_summary(harness: Any, faked: Any, summary: Path, name: str) -> None:
    faked()

    harness("run", "train.py", "--format", name)

    assert summary.read_text() == "# before\n"


def test_outside_a_job_the_github_format_writes_nothing(harness: Any, faked: Any, work: Path) -> None:
    faked()
    before = sorted(work.rglob("*"))

    code, out, err = harness("run", "train.py", "--format", "github", "--quiet")

    assert (code, out, err) == (0, "harness: The one run ended as expected.\n", "")
    assert sorted(work.rglob("*")) == before


def test_a_kept_run_can_be_added_to_the_summary_too(harness: Any, summary: Path) -> None:
    write_run(Path("kept"), a_report(a_run()), [])

    harness("report", "kept", "--format", "github")

    assert "### ✓ Memory: The one run ended as expected." in summary.read_text()


def test_a_summary_that_cannot_be_written_is_told_and_changes_no_exit_code(
    harness: Any, faked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/dev/null/summary.md")
    faked()

    code, out, err = harness("run", "train.py", "--format", "github")

    assert (code, out) == (0, "harness: The one run ended as expected.\n")
    assert "harness: /dev/null/summary.md: the step's summary cannot be written: Not a directory\n" in err


def test_a_summary_that_github_would_not_show_is_not_written(harness: Any, faked: Any, summary: Path) -> None:
    full = "x" * (1 << 20)
    summary.write_text(full)
    faked()

    code, _, err = harness("run", "train.py", "--format", "github")

    assert code == 0
    assert "would be over 1 MiB" in err
    assert summary.read_text() == full


def test_a_summary_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new.md"

    assert append_summary(path, "größe \ud800\n") == f"Added the report to the job's summary, {path}"
    assert path.read_text(encoding="utf-8") == "größe \\ud800\n"


@pytest.mark.parametrize("name", FIGURES_ONLY)
def test_what_figures_cannot_say_stands_on_stderr(harness: Any, faked: Any, name: str) -> None:
    broke = Problem(target="train.py::step", message="measuring failed: KeyError", help="Please report it.")
    faked(a_run(), errors=(broke,))

    code, _, err = harness("run", "train.py", "gone.py", "--format", name, "--out", "kept")

    assert code == 3
    for told in (err, harness("report", "kept", "--format", name).err):
        assert "harness: 'gone.py'" in told
        assert "harness: train.py::step: measuring failed: KeyError\n  Please report it.\n" in told


def test_a_list_of_scenarios_has_none_of_the_formats_of_a_report(harness: Any) -> None:
    code, _, err = harness("list", "--format", "junit")

    assert code == 4
    assert "'junit' is not one of 'terminal', 'json'" in err
