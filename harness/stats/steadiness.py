"""Whether a rise goes one way all the time, or only happened to end higher than it began."""

from __future__ import annotations

import numpy as np

from harness.stats.windows import Numbers, blocks

__all__ = ["forward_share", "one_way_share"]


def forward_share(y: Numbers, *, pieces: int = 12, tolerance: float = 0.0) -> float:
    """The share of pieces that lie higher than the piece before, by their medians or by their lowest values.

    A straight line gives 1, also under noise that the medians average out; a saw-tooth that does not fall back to its
    start gives 1 by its lowest values; a random walk gives a half, and 10 of 11 by chance in 1 of 150 (a sign test).
    With a negative *tolerance* a piece that lies level, or so much lower, counts as well.
    """
    parts = [y[p] for p in blocks(len(y), pieces)]
    if len(parts) < 2:
        return 0.0
    levels = (np.array([np.median(p) for p in parts]), np.array([p.min() for p in parts]))
    return float(max((np.diff(level) > tolerance).mean() for level in levels))


def one_way_share(y: Numbers) -> float:
    """The net rise as a share of all movement up and down: 1 for what never falls, 0 for what comes back."""
    moves = np.diff(y)
    path = float(np.abs(moves).sum())
    return float(moves.sum()) / path if path else 0.0
