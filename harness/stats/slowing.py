"""Whether growth dies away: a cache that fills with random keys rises ever more slowly, a leak does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.trend import rising_probability
from harness.stats.windows import Numbers, block_medians

__all__ = ["Slowing", "filling_time_ratio", "slowing"]


@dataclass(frozen=True, kw_only=True)
class Slowing:
    """``p``: the probability of rates that fall so steadily in a straight line; ``end_share``: the rate at the end
    as a share of the rate at the start."""

    p: float
    end_share: float


def slowing(x: Numbers, y: Numbers, *, pieces: int = 12) -> Slowing:
    """Test the rises from piece to piece for a downward trend of their own (Mann-Kendall on their negatives).

    The rates at start and end are read off a straight line through them. p is 1 where there are too few points.
    """
    if len(x) < 2 * pieces:
        return Slowing(p=1.0, end_share=1.0)
    at, level = block_medians(x, y, pieces)
    rates = np.diff(level) / np.diff(at)
    tilt, start = np.polyfit(np.arange(len(rates)), rates, 1)
    end = start + tilt * (len(rates) - 1)
    return Slowing(p=rising_probability(-rates), end_share=float(end / start) if start > 0 else 1.0)


def filling_time_ratio(x: Numbers, y: Numbers) -> float:
    """The time until 95 % of the rise over the time until half of it: how a fill ended.

    1.9 for a straight fill, however long it stood still afterwards; ln 20 / ln 2 = 4.3 for one that dies away, 2.4 if
    it is cut off after one time constant; 1 for a jump. 1.0 where nothing rose.
    """
    risen = np.maximum.accumulate(y) - y[0]
    if risen[-1] <= 0:
        return 1.0
    half, most = (float(x[np.argmax(risen >= share * risen[-1])] - x[0]) for share in (0.5, 0.95))
    return most / half if half > 0 else 1.0
