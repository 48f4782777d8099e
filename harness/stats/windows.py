"""A series cut into pieces, and the moments at which it rose for good."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Numbers", "block_medians", "blocks", "peaks_rising"]

Numbers = NDArray[Any]


def blocks(count: int, most: int) -> list[slice]:
    """At most *most* pieces of nearly equal length that cover *count* points."""
    pieces = min(count, most)
    edges = [count * k // pieces for k in range(pieces + 1)] if pieces else []
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def block_medians(x: Numbers, y: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """The series with at most *most* points: the medians of equal pieces, or itself where it is short enough."""
    if len(x) <= most:
        return x, y
    pieces = blocks(len(x), most)
    return (
        np.array([float(np.median(x[p])) for p in pieces]),
        np.array([float(np.median(y[p])) for p in pieces]),
    )


def peaks_rising(x: Numbers, y: Numbers, tolerance: float) -> Numbers:
    """The x at which the highest value so far rose by more than *tolerance* above the last such rise.

    A saw-tooth has such rises in its first period only; a leak has them to its end.
    """
    highest = float(y[0])
    found = []
    for place in np.flatnonzero(y > highest + tolerance):
        if y[place] > highest + tolerance:
            highest = float(y[place])
            found.append(x[place])
    return np.array(found)
