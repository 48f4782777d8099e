"""``harness report`` prints a saved run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.output import write_run
from harness.render import render
from tests.report_builder import a_leak, a_report


def test_a_saved_run_is_printed_in_any_format_and_exits_0(harness: Any) -> None:
    saved = a_report(a_leak())
    write_run(Path("kept"), saved, [])

    for run in ("kept", "kept/report.json"):
        for name in ("terminal", "json"):
            code, out, err = harness("report", run, "--format", name)

            assert (code, err) == (0, "")
            assert out == render(saved, name)


def test_what_is_no_run_exits_4_with_help(harness: Any) -> None:
    Path("empty").mkdir()

    for run in ("empty", "nowhere", "train.py"):
        code, out, err = harness("report", run)

        assert (code, out) == (4, "")
        assert err.startswith(f"harness: {run}")
        assert len(err.splitlines()) == 2
