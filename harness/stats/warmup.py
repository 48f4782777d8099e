"""When a program has settled."""

from __future__ import annotations

import numpy as np

from harness.stats.windows import Numbers

__all__ = ["settled_from"]


def settled_from(x: Numbers, y: Numbers, *, least: float, most: int, share: float = 0.25, factor: float = 1.5) -> float:
    """The x after which the start-up rises are over; ``x[0]`` where the series starts settled.

    A start-up rise is larger, by *factor*, than every rise of the second half, and no less than *least* (y's unit). It
    is looked for in the first *share* of the series, and in *most* points at most; where rises go on to the end of that
    part this is no warm-up but growth, and nothing is cut off. (Truncation by least variance, MSER, would cut a growing
    series at its end.)
    """
    n = len(x)
    if n < 16:
        return float(x[0])
    rises = np.diff(y)
    usual = max(float(rises[n // 2 :].max()), 0.0)
    limit = min(int(n * share), most)
    early = np.flatnonzero(rises[:limit] > max(factor * usual, least))
    if not len(early) or early[-1] >= limit - max(limit // 8, 1):
        return float(x[0])
    return float(x[early[-1] + 1])
