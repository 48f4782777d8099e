"""One series to one word: does this metric grow, did it stop, is it flat, or can nobody tell?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.judge.policy import Policy
from harness.model.metric import metric as metric_of
from harness.model.series import Growth, Series, Trend
from harness.stats.noise import local_noise
from harness.stats.slowing import filling_time_ratio, slowing
from harness.stats.steadiness import forward_share, one_way_share
from harness.stats.trend import RobustTrend, rising_probability, robust_trend
from harness.stats.windows import Numbers, block_medians, peaks_rising

__all__ = ["Movement", "movement_of", "movement_of_series"]

_LEDGERS = ("leak.bytes", "leak.tensors")

_CERTAIN = 1e-3
"""A trend's p value below which a rise is no chance."""


@dataclass(frozen=True, kw_only=True)
class Movement:
    """How one metric moved over the measured steps, with what the word rests on (the metric's unit, and steps).

    ``rise`` is the level at the end less the level at the start; ``last_rise`` the step of the last rise that
    stands out of ``noise``; ``rises`` how many there were, ``largest_rise`` the
    largest between two readings; ``one_way`` is the net rise as a share of all movement. ``p``: the probability of such
    a trend in a trendless series (one-sided). ``slowing``: the rates die away. ``doubtful``: growing,
    bounded or flat cannot be told apart yet, and more steps would tell. ``after_fill``: only the second half was
    judged, since a large fill before it would hide its growth.
    """

    metric: str
    growth: Growth
    start: int
    end: int
    points: int
    rise: float
    noise: float
    rises: int
    last_rise: int | None
    largest_rise: float = 0.0
    one_way: float = 0.0
    p: float = 1.0
    slowing: bool = False
    doubtful: bool = False
    after_fill: bool = False

    @property
    def unsettled(self) -> bool:
        """It rose for certain, and nobody can tell whether it still does."""
        return self.doubtful and self.growth.trend == "noisy" and self.growth.low > 0 and self.p <= _CERTAIN

    @property
    def grows(self) -> bool:
        """Up to the end of what was seen."""
        return self.growth.trend == "growing"

    @property
    def span(self) -> int:
        """Steps between the first and the last reading."""
        return self.end - self.start

    @property
    def still_for(self) -> int:
        """Steps since the last rise."""
        return self.end - (self.start if self.last_rise is None else self.last_rise)

    @property
    def grew_for(self) -> int:
        """Steps from the start to the last rise."""
        return 0 if self.last_rise is None else self.last_rise - self.start


def movement_of_series(series: Series, policy: Policy, *, start: int) -> Movement:
    """Judge *series* from step *start* on (the end of the warm-up)."""
    kept = series.since(start)
    return movement_of(series.metric, kept.steps, kept.values, policy)


def movement_of(metric: str, steps: Sequence[int], values: Sequence[float], policy: Policy) -> Movement:
    """Judge readings of *metric*. The values must be finite and the steps rise (``health`` sees to that).

    What stopped growing may hide a slow leak behind a large fill: its second half is then judged by itself. (Not where
    its rates die away: that is the end of the fill.)
    """
    unit = metric_of(metric).unit
    x, y = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if len(x) < policy.least_points:
        return _too_short(metric, unit, x, y)
    if y.min() == y.max():
        return _still(metric, unit, x)
    found = _Judged(metric, unit, x, y, policy).movement()
    if found.growth.trend == "bounded" and found.span >= 2 * policy.least_tail_steps:
        late = x >= x[0] + found.span / 2
        tail = movement_of(metric, [int(s) for s in x[late]], y[late].tolist(), policy)
        if tail.grows and not _dies_away(x, y, late, policy):
            return replace(tail, after_fill=True)
    return found


def _dies_away(x: Numbers, y: Numbers, late: Numbers, policy: Policy) -> bool:
    """The first half is a fill that died away, or the second half still does: then its growth is the fill's end."""
    end = slowing(x[late], y[late])
    if end.p <= policy.tail_slowing_p and end.end_share <= policy.exact_slowing_share:
        return True
    return filling_time_ratio(x[~late], y[~late]) > policy.straight_fill_ratio


def _still(metric: str, unit: str, x: Numbers) -> Movement:
    growth = Growth(per_step=0.0, low=0.0, high=0.0, unit=unit, trend="flat")
    return Movement(
        metric=metric, growth=growth, start=int(x[0]), end=int(x[-1]), points=len(x), rise=0.0, noise=0.0, rises=0,
        last_rise=None,
    )  # fmt: skip


def _too_short(metric: str, unit: str, x: Numbers, y: Numbers) -> Movement:
    if len(x) == 0 or y.min() == y.max():
        return _still(metric, unit, x if len(x) else np.zeros(1))
    slope = float((y[-1] - y[0]) / (x[-1] - x[0]))
    rates = np.diff(y) / np.diff(x)
    growth = Growth(per_step=slope, low=float(rates.min()), high=float(rates.max()), unit=unit, trend="noisy")
    return Movement(
        metric=metric, growth=growth, start=int(x[0]), end=int(x[-1]), points=len(x), rise=float(y[-1] - y[0]),
        noise=0.0, rises=0, last_rise=None, doubtful=True,
    )  # fmt: skip


class _Judged:
    """The questions that one series is asked, each a method; :meth:`movement` puts the answers together."""

    def __init__(self, metric: str, unit: str, x: Numbers, y: Numbers, policy: Policy) -> None:
        self.metric, self.unit, self.x, self.y, self.policy = metric, unit, x, y, policy
        self.least = policy.least_effect(metric)
        self.trend = robust_trend(x, y)
        self.noise = local_noise(x, y, slope=self.trend.slope)
        self.span = float(x[-1] - x[0])
        self.peaks = peaks_rising(x, y, max(policy.peak_over_noise * self.noise, policy.least_jump(metric)))
        self.rise = self._level(x[-1] - self.span / 8, x[-1]) - float(np.median(y[: 1 + len(y) // 32]))

    def movement(self) -> Movement:
        word, doubtful = self._word()
        trend = self._steady_part(word)
        return Movement(
            metric=self.metric,
            growth=Growth(per_step=trend.slope, low=trend.low, high=trend.high, unit=self.unit, trend=word),
            start=int(self.x[0]),
            end=int(self.x[-1]),
            points=len(self.x),
            rise=self.rise,
            noise=self.noise,
            rises=len(self.peaks),
            last_rise=int(self.peaks[-1]) if len(self.peaks) else None,
            largest_rise=float(np.diff(self.y).max()),
            one_way=one_way_share(self.y),
            p=self.trend.p_rising,
            slowing=word == "growing" and self._slows(),
            doubtful=doubtful,
        )

    def _word(self) -> tuple[Trend, bool]:
        big = self.trend.slope >= self.least
        if big and self._rises_quietly():
            return ("bounded", True) if self._pauses() else ("growing", False)
        if big and self._rises_in_noise():
            return self._lately()
        suspicious = big and self.trend.p_rising <= self.policy.suspicious_p
        if self.rise >= max(self.policy.peak_over_noise * self.noise, self.least * self.span):
            lately = self._lately()
            return lately if lately[0] == "bounded" else ("noisy", suspicious or self._starts_late())
        doubtful = suspicious or self._starts_late()
        return ("noisy", doubtful) if suspicious or self.trend.high > self.least else ("flat", doubtful)

    def _starts_late(self) -> bool:
        late = self.x >= self._quarter()
        if late.sum() < 6:
            return False
        recent = robust_trend(self.x[late], self.y[late])
        return recent.slope >= self.least and recent.p_rising <= self.policy.late_start_p

    def _level(self, first: float, last: float) -> float:
        return float(np.median(self.y[(self.x >= first) & (self.x <= last)]))

    def _quarter(self) -> float:
        return float(self.x[-1] - self.span / 4)

    def _rises_quietly(self) -> bool:
        """Rises that stand out of the noise, all along, and none of them undone."""
        if len(self.peaks) < self.policy.least_rises or not self._never_undone():
            return False
        counts = self._rises_by_quarter()
        kept = self.rise >= 0.5 * (self.y.max() - self.y[0])
        return bool(kept and counts[:3].min() >= 1 and (counts[3] >= 2 or self._pauses()))

    def _rises_by_quarter(self) -> Numbers:
        return np.bincount((4 * (self.peaks - self.x[0]) / (self.span + 1)).astype(int), minlength=4)

    def _pauses(self) -> bool:
        """Quiet for much longer than between any two rises before, or rising only a little, or rarely, of late."""
        settled = self.peaks[self.peaks > self.x[0] + self.span / 4]
        pause = np.diff(settled).max() if len(settled) > 1 else self.span
        if self.x[-1] - self.peaks[-1] > self.policy.gap_factor * pause:
            return True
        counts = self._rises_by_quarter()
        if counts[1:3].min() >= self.policy.many_rises and counts[3] < self.policy.recent_share * counts[1:3].mean():
            return True
        late = self.x >= self._quarter()
        recent = self.y[late].max() - self.y[~late].max()
        return bool(recent < self.policy.recent_share * self.trend.slope * self.span / 4)

    def _never_undone(self) -> bool:
        level = -max(self.noise, self.policy.least_jump(self.metric))
        return forward_share(self.y, tolerance=level) >= self.policy.forward_share

    def _rises_in_noise(self) -> bool:
        policy = self.policy
        _, medians = block_medians(self.x, self.y, 12 if len(self.x) >= 24 else len(self.x))
        return (
            rising_probability(medians) <= policy.block_p
            and self.trend.p_rising <= policy.point_p
            and self.trend.low > 0
            and forward_share(self.y) >= self.policy.forward_share
            and self.trend.slope * self.span >= policy.least_rise_over_noise * self.noise
        )

    def _lately(self) -> tuple[Trend, bool]:
        """What the last quarter says of a rise: it goes on (significantly, and nearly as fast as the whole; the last
        half as well), it is over, or neither can be told."""
        least = self.policy.recent_share * max(self.trend.slope, self.rise / self.span)
        late = self.x >= self._quarter()
        if late.sum() < 6:
            before = (self.x < self._quarter()) & (self.x >= self.x[-1] - self.span / 2)
            rise = float(np.median(self.y[late]) - np.median(self.y[before]))
            return ("growing", False) if rise >= least * self.span / 4 else ("bounded", self._stopped_lately())
        recent = robust_trend(self.x[late], self.y[late])
        if recent.slope >= least and recent.p_rising <= self.policy.recent_p and self._half_rises(least):
            return "growing", False
        return ("bounded", self._stopped_lately()) if recent.high <= least else ("noisy", True)

    def _half_rises(self, least: float) -> bool:
        """A single late jump tilts a quarter, and not the half."""
        late = self.x >= self.x[-1] - self.span / 2
        return robust_trend(self.x[late], self.y[late]).slope >= least

    def _stopped_lately(self) -> bool:
        """Quiet for less time than it grew for: then the next rise may yet come."""
        return bool(len(self.peaks) and self.x[-1] - self.peaks[-1] < self.peaks[-1] - self.x[0])

    def _slows(self) -> bool:
        policy, dying = self.policy, slowing(self.x, self.y)
        if self.metric in _LEDGERS:
            return dying.p <= policy.exact_slowing_p and dying.end_share <= policy.exact_slowing_share
        return dying.p <= policy.slowing_p and dying.end_share <= policy.slowing_share

    def _steady_part(self, word: Trend) -> RobustTrend:
        """The slope that will go on: without a fast start, and for what stopped, since it stopped."""
        parts: Sequence[float] = (0.25, 0.5) if word == "growing" else (0.75,) if word == "bounded" else ()
        chosen = self.trend
        for part in parts:
            late = self.x >= self.x[0] + part * self.span
            if late.sum() < max(self.policy.least_points, 16 if word == "growing" else 0):
                break
            later = robust_trend(self.x[late], self.y[late])
            if word == "bounded" or not later.low <= chosen.slope <= later.high:
                chosen = later
        return chosen
