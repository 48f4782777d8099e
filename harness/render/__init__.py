"""Turns a report into text. A renderer is ``render(report) -> str``: it prints nothing and opens nothing."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.model.report import Report

__all__ = ["FIGURES_ONLY", "FORMATS", "render"]

_MODULES = {
    "json": "harness.render.json",
    "markdown": "harness.render.markdown",
    "junit": "harness.render.junit",
    "sarif": "harness.render.sarif",
    "github": "harness.render.github",
    "gitlab": "harness.render.gitlab",
    "benchmark-action": "harness.render.benchmark_action",
    "bencher": "harness.render.bencher",
}

FORMATS: tuple[str, ...] = ("terminal", *_MODULES)
"""What ``--format`` takes; one module of this folder each."""

FIGURES_ONLY: tuple[str, ...] = ("gitlab", "benchmark-action", "bencher")
"""Formats that have no place for a sentence: what could not be found or measured must be told beside them."""


def render(report: Report, format: str, *, width: int = 100, color: bool = False) -> str:
    """*report* in one of :data:`FORMATS`; *width* (columns) and *color* matter to a terminal only.

    Each format's module is loaded when it is asked for: ``harness --help`` should not wait for rich.
    """
    if format == "terminal":
        from harness.render import terminal

        return terminal.render(report, width=width, color=color)
    renderer: Callable[[Report], str] = import_module(_MODULES[format]).render
    return renderer(report)
