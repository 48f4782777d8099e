"""How much a series moves about its own local course."""

from __future__ import annotations

import numpy as np

from harness.stats.windows import Numbers, blocks

__all__ = ["local_noise"]


def local_noise(x: Numbers, y: Numbers, *, slope: float = 0.0, pieces: int = 8) -> float:
    """A robust standard deviation (y's unit) around straight lines through *pieces* parts of the series.

    *slope*, the whole series' robust one, is taken out first. A part's own line then goes through the medians of its
    two halves, so that rare high peaks do not tilt it.
    1.4826 times the median absolute residual equals the standard deviation for normal noise (F. R. Hampel, JASA 69
    (1974) 383-393), and up to half of the points may be spikes. 0.0 where there is nothing to measure it by.
    """
    level = y - slope * x
    residuals = []
    for piece in blocks(len(x), min(pieces, max(len(x) // 6, 1))):
        part_x, part_y = x[piece], level[piece]
        if len(part_x) < 3:
            continue
        middle = len(part_x) // 2
        run = float(np.median(part_x[middle:]) - np.median(part_x[:middle]))
        line = part_y - (np.median(part_y[middle:]) - np.median(part_y[:middle])) / run * part_x
        residuals.append(line - np.median(line))
    return 1.4826 * float(np.median(np.abs(np.concatenate(residuals)))) if residuals else 0.0
