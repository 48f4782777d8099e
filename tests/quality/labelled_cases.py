"""How often the tool is right on labelled cases: ``python -m tests.quality.labelled_cases FOLDER [NAME ...]``.

A case is a scenario file with a literal ``EXPECT`` (see :mod:`tests.quality.labels`). Runs every case of the folder, or
those whose names contain a NAME, prints a line a run as it comes, then the scores by :mod:`tests.quality.scoring`, and
each miss with what was wanted and what was said. Exit code 1 below the bounds, or where a fixed half is called leak.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from harness.capture.discover import discover
from harness.model.recording import Variant
from harness.model.report import RunReport
from harness.pipeline import RunOptions, run_scenarios
from tests.quality.labels import Label, read_label
from tests.quality.scoring import BOUNDS, Mark, below_bounds, outcome_is_right, score, shares

__all__ = ["main", "scores_text"]

_WIDEST = 400


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
        marks = score(run, self._labels[run.scenario])
        wrong = ",".join(mark.question for mark in marks if mark.right is False)
        causes = ",".join(str(finding.cause or finding.fault) for finding in run.findings)
        looks = ",".join(look_alike.look_alike for look_alike in run.look_alikes)
        print(
            f"{'ok ' if not wrong else 'BAD'} {run.scenario[:34]:34} {run.variant:10} {run.outcome:12} {run.steps:4} "
            f"steps {time.monotonic() - self._began:5.1f} s  {causes or looks}{'  misses ' + wrong if wrong else ''}",
            flush=True,
        )

    def end(self) -> None:
        pass


def scores_text(marks: Sequence[Mark], runs: Sequence[RunReport], labels: dict[str, Label]) -> str:
    """The scores, the holders that no quoted word could check, and the misses."""
    lines = [
        f"{question:12} {right:4} of {counted:4}  {100 * right / counted:5.1f} %"
        + (f"  (at least {100 * BOUNDS[question]:.0f} %)" if question in BOUNDS else "")
        for question, (right, counted) in shares(marks).items()
    ]
    alarms = _fixed_called_leak(runs)
    lines.append(f"fixed halves called leak: {len(alarms)} {' '.join(alarms)}")
    unquoted = [mark for mark in marks if mark.unquoted]
    if unquoted:
        lines.append("unquoted holders:")
        said = {True: "named", False: "MISSED", None: "not counted"}
        lines += [f"  {said[m.right]:12} {m.scenario}: {m.wanted} / {m.said}"[:_WIDEST] for m in unquoted]
    for mark in marks:
        if mark.right is False:
            lines.append(f"{mark.question} {mark.scenario}::{mark.variant}")
            lines.append(f"    wanted: {mark.wanted}"[:_WIDEST])
            lines.append(f"    said:   {mark.said}"[:_WIDEST])
    wrong = sum(not outcome_is_right(run, labels[run.scenario]) for run in runs)
    lines.append(f"{len(runs)} runs of {len({run.scenario for run in runs})} cases, {wrong} wrong outcomes")
    return "\n".join(lines)


def _fixed_called_leak(runs: Sequence[RunReport]) -> list[str]:
    return [run.scenario for run in runs if run.variant == "fixed_step" and run.outcome == "leak"]


def main(arguments: Sequence[str]) -> int:
    """Run the cases of the folder, print the scores, and say by the exit code whether they suffice."""
    folder, *names = arguments
    found, problems = discover([folder])
    labels = {scenario.name: label for scenario in found if (label := read_label(scenario.path)) is not None}
    cases = [s for s in found if s.name in labels and (not names or any(name in s.name for name in names))]
    report = run_scenarios(cases, options=RunOptions(), progress=_Teller(labels), problems=problems)
    marks = [mark for run in report.runs for mark in score(run, labels[run.scenario])]
    print(scores_text(marks, report.runs, labels))
    for error in (*report.problems, *report.errors):
        print(f"not run: {error.target}: {error.message}")
    wrong = below_bounds(marks) or _fixed_called_leak(report.runs) or report.errors or report.interrupted
    return int(bool(wrong) or not cases)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
