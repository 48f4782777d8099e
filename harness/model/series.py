"""One metric over the steps of one subject."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Growth", "Series", "Trend"]

Trend = Literal["growing", "flat", "bounded", "noisy"]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Readings of one metric: ``steps[k]`` is the step whose end gave ``values[k]`` (the metric's unit).

    Step -1 is the reading after set-up, before the first step. Steps rise strictly; they may have gaps,
    because costly readings are rare and long series are thinned (minima and maxima are kept).
    """

    metric: str
    steps: tuple[int, ...]
    values: tuple[float, ...]

    def since(self, step: int) -> Series:
        """The part from *step* on."""
        kept = [k for k, s in enumerate(self.steps) if s >= step]
        return Series(
            metric=self.metric,
            steps=tuple(self.steps[k] for k in kept),
            values=tuple(self.values[k] for k in kept),
        )


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How a metric moves with the steps: a robust slope (unit a step) with its 95 % interval, and a word for it.

    ``growing``: up to the end of what was seen. ``bounded``: grew, then stopped. ``flat``: no growth above the
    policy's least effect. ``noisy``: the interval is too wide to say.
    """

    per_step: float
    low: float
    high: float
    unit: str
    trend: Trend
