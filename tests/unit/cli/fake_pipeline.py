"""Stands in for the pipeline: it runs nothing, answers what a test says, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.capture.scenario_file import ScenarioFile
from harness.model.recording import Recording
from harness.model.report import Problem, Report, RunReport
from harness.pipeline import Progress, RunOptions
from tests.report_builder import a_report, a_run

__all__ = ["FakePipeline"]


class FakePipeline:
    """Call it as ``run_scenarios``. *runs* are what it reports (default: one that ended as expected a scenario)."""

    def __init__(
        self,
        *runs: RunReport,
        recordings: Sequence[Recording] = (),
        error: BaseException | None = None,
        interrupted: bool = False,
        errors: Sequence[Problem] = (),
    ) -> None:
        self.errors = errors
        self.runs, self.recordings, self.error, self.interrupted = runs, recordings, error, interrupted
        self.asked: list[ScenarioFile] = []
        self.options = RunOptions()

    def __call__(
        self,
        scenarios: Sequence[ScenarioFile],
        *,
        options: RunOptions,
        progress: Progress,
        problems: Sequence[Problem] = (),
        save: Callable[[Recording], None] | None = None,
    ) -> Report:
        assert not self.asked, "asked twice"
        self.asked, self.options = list(scenarios), options
        runs = self.runs or tuple(a_run(scenario.name, path=scenario.shown_path) for scenario in scenarios)
        progress.begin(len(runs))
        for run in runs:
            progress.started(run.scenario, run.variant)
            progress.stepped(10, "measuring")
            progress.finished(run)
        if self.error is not None:
            raise self.error
        for recording in self.recordings:
            assert save is not None, "recordings are kept only where somebody asked for them"
            save(recording)
        progress.end()
        return a_report(*runs, problems=tuple(problems), errors=tuple(self.errors), interrupted=self.interrupted)
