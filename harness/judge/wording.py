"""The sentences of a verdict: what was seen, with its numbers."""

from __future__ import annotations

from harness.judge.growth import Movement
from harness.model.metric import metric as metric_of
from harness.units import format_rate, format_value

__all__ = ["grew", "plain_flat", "rate", "span_of", "stopped", "title"]


def title(metric: str) -> str:
    """The metric's name in words."""
    return metric_of(metric).title


def rate(value: float, unit: str) -> str:
    """``58.7 KiB/step`` or ``0.13/step``."""
    return format_rate(value) if unit == "bytes" else f"{format_value(value, unit)}/step"


def span_of(movement: Movement) -> str:
    """``the last 392 steps``."""
    return f"the last {movement.span:,} steps"


def grew(movement: Movement, *, where: str = "") -> str:
    """ "C heap in use grew 60.1 KiB/step over the last 392 steps (95 %: 60.0 KiB/step to 60.2 KiB/step)"."""
    growth = movement.growth
    interval = f"{rate(growth.low, growth.unit)} to {rate(growth.high, growth.unit)}"
    return (
        f"{title(movement.metric)}{where} grew {rate(growth.per_step, growth.unit)} over {span_of(movement)} "
        f"(95 %: {interval})"
    )


def stopped(movement: Movement) -> str:
    """ "live tensor storages grew by 4.3 MiB, stopped at step 100 and stood still for the last 140 steps"."""
    by = format_value(movement.rise, movement.growth.unit)
    return (
        f"{title(movement.metric)} grew by {by}, stopped at step {movement.last_rise or movement.start} "
        f"and stood still for the last {movement.still_for:,} steps"
    )


def plain_flat(movement: Movement) -> str:
    """ "C heap in use did not grow over the last 192 steps; more than 35 B/step would have been seen"."""
    growth = movement.growth
    seen = max(growth.high, 0.0)
    limit = f"; more than {rate(seen, growth.unit)} would have been seen" if seen else ""
    return f"{title(movement.metric)} did not grow over {span_of(movement)}{limit}"
