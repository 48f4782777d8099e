"""Narrows the scenarios that were found to those that ``--only`` and ``--tag`` ask for."""

from __future__ import annotations

from collections.abc import Sequence

from harness.capture.scenario_file import ScenarioFile
from harness.errors import NothingMeasuredError

__all__ = ["nothing_in", "select"]


def nothing_in(targets: Sequence[str]) -> NothingMeasuredError:
    """The error for *targets* that exist and hold no scenario."""
    return NothingMeasuredError(
        f"no scenario in {', '.join(targets) or 'this installation'}",
        help="A scenario is a Python file with a module-level function: def step(i): ...  Names: `harness list`.",
    )


def select(
    scenarios: Sequence[ScenarioFile], *, only: Sequence[str] = (), tags: Sequence[str] = ()
) -> tuple[ScenarioFile, ...]:
    """Those that expect one of *only* and bear one of *tags*; an empty choice keeps all.

    :class:`NothingMeasuredError` where there were scenarios and none is left, with what there is to choose from.
    """
    kept = tuple(
        scenario
        for scenario in scenarios
        if (not only or scenario.expected.kind in only) and (not tags or set(tags) & set(scenario.tags))
    )
    if scenarios and not kept:
        asked = " ".join([*(f"--only {kind}" for kind in only), *(f"--tag {tag}" for tag in tags)])
        kinds = sorted({scenario.expected.kind for scenario in scenarios})
        known = sorted({tag for scenario in scenarios for tag in scenario.tags})
        raise NothingMeasuredError(
            f"none of {len(scenarios)} scenarios is left by {asked}",
            help=f"They expect: {', '.join(kinds)}. Their tags: {', '.join(known) or 'none'}.",
        )
    return kept
