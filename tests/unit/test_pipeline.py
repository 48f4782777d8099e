"""The order of things: what one failure costs the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.capture.scenario_file import ScenarioFile
from harness.cli.progress import SilentProgress
from harness.errors import CaptureError
from harness.model.recording import Recording
from harness.model.report import Report
from harness.pipeline import RunOptions, run_scenarios
from tests.report_builder import a_recording


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Runs three scenarios that are recorded without a process, but for those whose errors are given."""

    def run(**failures: CaptureError) -> Report:
        def record(server: object, scenario: ScenarioFile, *args: object, **more: object) -> Recording:
            if scenario.name in failures:
                raise failures[scenario.name]
            return a_recording()

        monkeypatch.setattr("harness.pipeline.record_variant", record)
        scenarios = [
            ScenarioFile(name=name, path=Path(f"{name}.py"), shown_path=f"{name}.py", variants=("step",))
            for name in ("first", "second", "third")
        ]
        return run_scenarios(scenarios, options=RunOptions(), progress=SilentProgress())

    return run


def test_a_subject_in_which_measuring_broke_costs_the_others_nothing(recorded: Callable[..., Report]) -> None:
    report = recorded(second=CaptureError("broke", help="Report it.", only_this_subject=True))

    assert [run.path for run in report.runs] == ["first.py", "third.py"]
    assert [(e.target, e.message, e.help) for e in report.errors] == [("second.py::step", "broke", "Report it.")]


def test_a_server_that_cannot_be_started_ends_the_run_and_keeps_what_is_done(recorded: Callable[..., Report]) -> None:
    report = recorded(second=CaptureError("torch could not be imported"))

    assert [run.path for run in report.runs] == ["first.py"]
    assert [error.target for error in report.errors] == ["second.py::step"]
