"""How often the verdict is right on labelled cases: ``python -m tests.quality.labelled_cases FOLDER``.

A case is a scenario file with a literal ``EXPECT``: ``leak`` says whether ``step`` leaks (``fixed_step`` never does),
``cause`` its cause or a list of right ones, ``channel`` where it shows. Prints one line a run and the scores.
"""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from harness.capture.discover import discover
from harness.model.recording import Variant
from harness.model.report import RunReport
from harness.pipeline import RunOptions, run_scenarios

__all__ = ["Label", "main", "outcome_is_right", "read_label"]

EXACT_CHANNELS = ("tensor", "autograd", "none")


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What a case's author found: is it a leak, from which of these causes, and in which channel does it show?"""

    leak: bool
    causes: tuple[str, ...]
    channel: str
    look_alikes: tuple[str, ...]


def read_label(path: Path) -> Label:
    """The file's ``EXPECT``, without running the file. ``ValueError`` where it has none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "EXPECT" for t in node.targets):
            expect: dict[str, Any] = ast.literal_eval(node.value)
            cause = expect.get("cause", "none")
            return Label(
                leak=bool(expect["leak"]),
                causes=tuple(cause) if isinstance(cause, list) else (cause,),
                channel=str(expect.get("channel", "none")),
                look_alikes=tuple(expect.get("look_alike", ())),
            )
    raise ValueError(f"{path}: no EXPECT")


def outcome_is_right(run: RunReport, label: Label) -> bool:
    """Leak where there is one, and in no other run."""
    return (run.outcome == "leak") == (label.leak and run.variant == "step") and run.outcome != "failed"


class _Teller:
    """Prints a line a run, as it comes."""

    def __init__(self, labels: dict[str, Label]) -> None:
        self._labels = labels
        self._began = time.monotonic()

    def begin(self, total: int) -> None:
        print(f"{total} runs")

    def started(self, scenario: str, variant: Variant) -> None:
        self._began = time.monotonic()

    def stepped(self, steps: int, doing: str) -> None:
        pass

    def finished(self, run: RunReport) -> None:
        label = self._labels[run.scenario]
        right = outcome_is_right(run, label)
        causes = ",".join(str(finding.cause or finding.fault) for finding in run.findings)
        looks = ",".join(look_alike.look_alike for look_alike in run.look_alikes)
        took = time.monotonic() - self._began
        print(
            f"{'ok ' if right else 'BAD'} {run.scenario[:36]:36} {run.variant:10} {run.outcome:12} {run.steps:4} steps "
            f"{took:5.1f} s  {causes or looks}",
            flush=True,
        )
        if not right:
            for reason in (*run.reasons, *run.notes):
                print(f"      {reason}")

    def end(self) -> None:
        pass


def main(folder: str) -> None:
    """Run every case in *folder* and print the scores."""
    scenarios, problems = discover([folder])
    labels = {scenario.name: read_label(scenario.path) for scenario in scenarios}
    report = run_scenarios(scenarios, options=RunOptions(), progress=_Teller(labels), problems=problems)
    scores = {
        "outcome, exact channels": [r for r in report.runs if labels[r.scenario].channel in EXACT_CHANNELS],
        "outcome, all": list(report.runs),
    }
    for name, runs in scores.items():
        right = sum(outcome_is_right(run, labels[run.scenario]) for run in runs)
        print(f"{name:24} {right:4} of {len(runs):4}  {100 * right / max(1, len(runs)):.1f} %")
    leaks = [r for r in report.runs if r.variant == "step" and labels[r.scenario].leak]
    caused = sum(any(finding.cause in labels[run.scenario].causes for finding in run.findings) for run in leaks)
    print(f"{'cause':24} {caused:4} of {len(leaks):4}  {100 * caused / max(1, len(leaks)):.1f} %")


if __name__ == "__main__":
    main(sys.argv[1])
