"""Programs that do not leak, to be run as users run theirs: ordinary loops, the fixed halves, the look-alikes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.capture.discover import discover
from harness.capture.scenario_file import ScenarioFile
from harness.model.recording import Variant
from tests.quality.labels import read_label

__all__ = ["CASES", "ORDINARY", "SCENARIOS", "clean_programs"]

_HERE = Path(__file__).resolve().parent
ORDINARY = _HERE / "ordinary"
CASES = _HERE / "cases"
SCENARIOS = _HERE.parents[1] / "scenarios"


def clean_programs(folders: Sequence[str]) -> tuple[ScenarioFile, ...]:
    """Every half in *folders* of which its author says that it does not leak, each with this one variant.

    ``fixed_step`` never does. ``step`` does not where the file's ``EXPECT`` says so, or where the file says nothing
    at all and has no fixed half: such a file is an ordinary program.
    """
    found, problems = discover(folders)
    if problems:
        raise ValueError("; ".join(problem.message for problem in problems))
    return tuple(
        msgspec.structs.replace(scenario, variants=(variant,))
        for scenario in found
        for variant in scenario.variants
        if variant == "fixed_step" or _step_is_clean(scenario, scenario.variants)
    )


def _step_is_clean(scenario: ScenarioFile, variants: tuple[Variant, ...]) -> bool:
    label = read_label(scenario.path)
    if label is not None:
        return not label.leak
    return "fixed_step" not in variants
