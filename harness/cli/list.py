"""``harness list``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from harness.cli import options

if TYPE_CHECKING:
    from harness.capture.scenario_file import ScenarioFile
    from harness.model.report import Problem

__all__ = ["list_scenarios"]


@click.command("list")
@options.targets
@options.variant
@options.selecting
@options.terminal_or_json
def list_scenarios(
    targets: tuple[str, ...],
    variant: Literal["step", "fixed_step", "both"],
    only: tuple[str, ...],
    tags: tuple[str, ...],
    format: str,
) -> int:
    """List scenarios: names, what is expected of each, tags and titles. Runs none of them.

    Without TARGETS it lists the bundled ones.
    """
    from harness.capture.discover import discover
    from harness.cli import printing
    from harness.cli.exit_codes import AS_EXPECTED, USAGE
    from harness.cli.selection import nothing_in, select

    found, problems = discover(targets, variant=variant)
    scenarios = select(found, only=only, tags=tags)
    if format == "json":
        printing.print_result(_as_json(scenarios, problems))
    elif scenarios:
        printing.print_result(_as_table(scenarios))
    for problem in problems:
        printing.print_error(problem.message, problem.help)
    if not scenarios and not problems:
        raise nothing_in(targets)
    return USAGE if problems else AS_EXPECTED


def _as_json(scenarios: Sequence[ScenarioFile], problems: Sequence[Problem]) -> str:
    from harness.model.codec import encode_json

    listed = [
        {
            "name": scenario.name,
            "path": scenario.shown_path,
            "variants": scenario.variants,
            "expected": scenario.expected,
            "tags": scenario.tags,
            "title": scenario.title,
            "bundled": scenario.bundled,
        }
        for scenario in scenarios
    ]
    return encode_json({"scenarios": listed, "problems": problems}).decode()


def _as_table(scenarios: Sequence[ScenarioFile]) -> str:
    from harness.cli import printing
    from harness.cli.listing import render_listing

    return render_listing(scenarios, width=printing.width(sys.stdout), color=printing.has_color(sys.stdout))
