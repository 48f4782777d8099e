"""Turns a report into text. A renderer is ``render(report) -> str``: it prints nothing and opens nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.model.report import Report

__all__ = ["FORMATS", "render"]

FORMATS: tuple[str, ...] = ("terminal", "json")
"""What ``--format`` takes; one module of this folder each."""


def render(report: Report, format: str, *, width: int = 100, color: bool = False) -> str:
    """*report* in one of :data:`FORMATS`; *width* (columns) and *color* matter to a terminal only.

    Each format's module is loaded when it is asked for: ``harness --help`` should not wait for rich.
    """
    if format == "json":
        from harness.render import json

        return json.render(report)
    assert format == "terminal", format
    from harness.render import terminal

    return terminal.render(report, width=width, color=color)
