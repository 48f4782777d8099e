"""Series that stay bounded however long a run is: the resolution is halved, the extremes are kept."""

from __future__ import annotations

from harness.model.series import Series

__all__ = ["SeriesBuilder"]

_MOST_POINTS = 4096


class SeriesBuilder:
    """Collects one metric. Beyond 4096 points every four neighbours become the two that matter, the lowest and the
    highest, in their order: a spike or a dip is never lost, and the first and the last point stay."""

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._steps: list[int] = []
        self._values: list[float] = []

    def add(self, step: int, value: float) -> None:
        """Add a reading; steps must rise."""
        self._steps.append(step)
        self._values.append(value)
        if len(self._steps) > _MOST_POINTS:
            self._halve()

    def build(self) -> Series:
        """What was collected, as a frozen series."""
        return Series(metric=self._metric, steps=tuple(self._steps), values=tuple(self._values))

    def _halve(self) -> None:
        last = len(self._steps) - 1
        kept = {0, last}
        for start in range(1, last, 4):
            group = range(start, min(start + 4, last))
            kept.add(min(group, key=self._values.__getitem__))
            kept.add(max(group, key=self._values.__getitem__))
        order = sorted(kept)
        self._steps = [self._steps[k] for k in order]
        self._values = [self._values[k] for k in order]
