"""Figures as JSON for github-action-benchmark, with ``tool: customSmallerIsBetter``.

One file, so smaller is better for all that is in it: exact figures, and the time a step takes, which is the speed
turned round. Each entry has the name, unit and value that the action asks for
(https://github.com/benchmark-action/github-action-benchmark).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.model.codec import encode_json
from harness.model.report import Report, RunReport
from harness.render.figures import Figure, exact_figures, labels_of
from harness.render.view import standing
from harness.units import format_value

__all__ = ["render"]


def render(report: Report) -> str:
    """A JSON list; for each run what it takes, and first how many runs were not as expected."""
    unexpected = sum(standing(run) == "unexpected" for run in report.runs)
    missing = len(report.problems) + len(report.errors) + int(report.interrupted)
    entries: list[dict[str, object]] = [
        {"name": "runs not as expected", "unit": "runs", "value": unexpected},
        {"name": "asked for and not measured", "unit": "count", "value": missing},
    ]
    for run, labels in zip(report.runs, labels_of(report.runs), strict=True):
        before = " · ".join(labels.values())
        entries += [_entry(before, figure) for figure in exact_figures(run)]
        entries += _time_a_step(before, run)
    return encode_json(entries).decode()


def _entry(before: str, figure: Figure) -> dict[str, object]:
    where = "" if figure.device is None else f" ({figure.device})"
    value = int(figure.value) if float(figure.value).is_integer() else figure.value
    entry: dict[str, object] = {"name": f"{before}: {figure.metric}{where}", "unit": figure.unit, "value": value}
    if figure.unit == "bytes":
        entry["extra"] = format_value(figure.value, "bytes")
    return entry


def _time_a_step(before: str, run: RunReport) -> Iterator[dict[str, object]]:
    speed = run.throughput
    if speed is None or not (math.isfinite(speed.steps_per_s) and speed.steps_per_s > 0):
        return
    took_ms = 1000 / speed.steps_per_s
    entry: dict[str, object] = {"name": f"{before}: time a step", "unit": "ms", "value": took_ms}
    if 0 < speed.low <= speed.high < math.inf:
        entry["range"] = f"{took_ms / speed.high:.4g} to {took_ms / speed.low:.4g}"
    yield entry
