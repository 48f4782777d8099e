"""How much a series moves about its own local course."""

from __future__ import annotations

import numpy as np

from harness.stats.windows import Numbers, blocks

__all__ = ["local_noise"]


def local_noise(x: Numbers, y: Numbers, *, pieces: int = 8) -> float:
    """A robust standard deviation (y's unit) around straight lines through *pieces* parts of the series.

    1.4826 times the median absolute residual equals the standard deviation for normal noise (F. R. Hampel, JASA 69
    (1974) 383-393), and up to half of the points may be spikes. 0.0 where there is nothing to measure it by.
    """
    residuals = []
    for piece in blocks(len(x), min(pieces, max(len(x) // 6, 1))):
        part_x, part_y = x[piece], y[piece]
        if len(part_x) < 3:
            continue
        centred = part_x - part_x.mean()
        slope = float(centred @ part_y) / float(centred @ centred)
        line = part_y - slope * centred
        residuals.append(line - np.median(line))
    return 1.4826 * float(np.median(np.abs(np.concatenate(residuals)))) if residuals else 0.0
