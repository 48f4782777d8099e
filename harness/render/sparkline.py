"""A curve in one line of text."""

from __future__ import annotations

import math

from harness.model.metric import METRICS
from harness.model.report import Curve, RunReport
from harness.units import format_count, format_value

__all__ = ["main_curve", "sparkline"]

_LEVELS = "▁▂▃▄▅▆▇█"
_UNITS = {metric.name: metric.unit for metric in METRICS}


def main_curve(run: RunReport) -> Curve | None:
    """The curve that shows best what the verdict is about: exact tensor bytes where they grow, else what grows most."""
    by_name = {curve.metric: curve for curve in run.curves if len(curve.values) > 1}
    if any(finding.tensor_bytes_per_step for finding in run.findings) and "leak.bytes" in by_name:
        return by_name["leak.bytes"]
    growing = [name for name in by_name if name in run.growth and run.growth[name].trend == "growing"]
    # Bytes before counts: three thousand blocks are not more than two mebibytes.
    growing.sort(key=lambda name: (run.growth[name].unit == "bytes", run.growth[name].per_step), reverse=True)
    return by_name[growing[0]] if growing else by_name.get("leak.bytes")


def sparkline(curve: Curve, *, columns: int = 40) -> str:
    """``▁▂▄▆█ leak.bytes 0 B to 3.7 MiB``; a reading that is no number leaves a gap."""
    values = _thinned(curve.values, columns)
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return f"{curve.metric}: no reading is a number"
    low, high = min(finite), max(finite)
    span = high / 2 - low / 2 or 1.0  # halves, because the span of two finite floats may be infinite
    drawn = "".join(
        _LEVELS[round(7 * ((value / 2 - low / 2) / span))] if math.isfinite(value) else " " for value in values
    )
    return f"{drawn} {curve.metric} {_shown(curve, finite[0])} to {_shown(curve, finite[-1])}"


def _thinned(values: tuple[float, ...], columns: int) -> tuple[float, ...]:
    if len(values) <= columns:
        return values
    return tuple(values[round(k * (len(values) - 1) / (columns - 1))] for k in range(columns))


def _shown(curve: Curve, value: float) -> str:
    unit = _UNITS.get(curve.metric)
    return format_count(value) if unit is None else format_value(value, unit)
