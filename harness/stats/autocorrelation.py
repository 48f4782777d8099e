"""How much less a series tells when neighbours resemble each other."""

from __future__ import annotations

import math

import numpy as np

from harness.stats.windows import Numbers

__all__ = ["variance_factor"]


def variance_factor(residuals: Numbers) -> float:
    """By how much Kendall's score varies more than for independent values: 1 or larger.

    *residuals* are the values without their trend. Only correlations of ranks that stand out at 5 % count, up to a
    quarter of the length, and a factor below 1 is not believed: so the test errs on the side of "no trend".
    Source: K. H. Hamed and A. R. Rao, J. Hydrology 204 (1998) 182-196, equations 9 to 12.
    """
    n = len(residuals)
    if n < 10:
        return 1.0
    ranks = _ranks(residuals)
    ranks -= ranks.mean()
    energy = float(ranks @ ranks)
    if energy == 0:
        return 1.0
    lags = np.arange(1, n // 4 + 1)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(ranks, size)
    correlation = np.fft.irfft(spectrum * spectrum.conj(), size)[1 : n // 4 + 1] / energy
    correlation[np.abs(correlation) < 1.96 / math.sqrt(n)] = 0
    weights = (n - lags) * (n - lags - 1.0) * (n - lags - 2.0)
    factor = 1 + 2 / (n * (n - 1.0) * (n - 2.0)) * float(weights @ correlation)
    return max(factor, 1.0)


def _ranks(values: Numbers) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last: np.ndarray = np.cumsum(counts)
    middle: np.ndarray = (last - (counts - 1) / 2)[inverse]
    return middle
