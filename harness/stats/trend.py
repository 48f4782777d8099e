"""How fast a series rises, and whether it rises at all: robust against spikes, stairs and related neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.stats.autocorrelation import variance_factor
from harness.stats.windows import Numbers, block_medians

__all__ = ["RobustTrend", "rising_probability", "robust_trend"]

_MOST_POINTS = 400
"""All pairs of 400 points are 80,000 slopes, about 2 ms; longer series are reduced to block medians first."""


@dataclass(frozen=True, kw_only=True)
class RobustTrend:
    """A Theil-Sen slope (y's unit a unit of x) with its interval, and the trend test's answer.

    ``p_rising`` is the one-sided probability of so much rise in a series without any trend.
    """

    slope: float
    low: float
    high: float
    intercept: float
    p_rising: float
    points: int


def robust_trend(x: Numbers, y: Numbers, *, level: float = 0.95) -> RobustTrend:
    """The median of all pairwise slopes, Sen's interval for it, and Mann-Kendall's test against no rise.

    Sources: P. K. Sen, JASA 63 (1968) 1379-1389 (slope and interval, ties included); H. B. Mann, Econometrica 13
    (1945) 245-259; K. H. Hamed and A. R. Rao, J. Hydrology 204 (1998) 182-196 (the variance that related
    neighbours need, which widens the interval here as well). *x* must rise strictly.

    ``ValueError`` with fewer than two points.
    """
    if len(x) < 2:
        raise ValueError(f"a slope needs two points, and there are {len(x)}")
    x, y = block_medians(x, y, _MOST_POINTS)
    n = len(x)
    first, second = _pairs(n)
    rises = y[second] - y[first]
    slopes = rises / (x[second] - x[first])
    slope = float(np.median(slopes))
    residuals = y - slope * x
    score = float(np.sign(rises).sum())
    spread = math.sqrt(_score_variance(y) * variance_factor(residuals))
    low, high = _interval(slopes, spread, level)
    return RobustTrend(
        slope=slope,
        low=low,
        high=high,
        intercept=float(np.median(residuals)),
        p_rising=_p_rising(score, spread),
        points=n,
    )


def rising_probability(y: Numbers) -> float:
    """Mann-Kendall's one-sided p value for independent values, such as the medians of long blocks."""
    first, second = _pairs(len(y))
    score = float(np.sign(y[second] - y[first]).sum())
    return _p_rising(score, math.sqrt(_score_variance(y)))


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(n, k=1)
    return first, second


def _score_variance(y: Numbers) -> float:
    """Of Kendall's score without a trend: n(n-1)(2n+5)/18, less what ties take."""
    n = len(y)
    ties = np.unique(y, return_counts=True)[1]
    total: float = n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())
    return total / 18


def _p_rising(score: float, spread: float) -> float:
    if spread == 0:
        return 1.0
    # The score moves in steps of two: half a step towards 0 corrects for that.
    z = (score - math.copysign(1, score)) / spread if score else 0.0
    return 0.5 * math.erfc(z / math.sqrt(2))


def _interval(slopes: np.ndarray, spread: float, level: float) -> tuple[float, float]:
    """Sen's: the slopes whose ranks lie the normal quantile times *spread* around the middle."""
    width = _normal_quantile(0.5 + level / 2) * spread
    count = len(slopes)
    lower = min(max(math.floor((count - width) / 2), 0), count - 1)
    upper = min(max(math.ceil((count + width) / 2), 0), count - 1)
    ordered = np.partition(slopes, (lower, upper))
    return float(ordered[lower]), float(ordered[upper])


@lru_cache(maxsize=8)
def _normal_quantile(p: float) -> float:
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - 0.5 * math.erfc(middle / math.sqrt(2)) < p else (low, middle)
    return low
