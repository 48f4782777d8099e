"""A series cut into pieces, and the moments at which it rose for good."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Numbers", "block_medians", "blocks", "peaks_rising"]

Numbers = NDArray[Any]


def blocks(count: int, most: int) -> list[slice]:
    """At most *most* pieces that cover *count* points: equal ones, counted from the end, so that only the first one can
    be shorter."""
    if count == 0:
        return []
    size = math.ceil(count / most)
    first = count % size or size
    return [slice(0, first), *(slice(k, k + size) for k in range(first, count, size))]


def block_medians(x: Numbers, y: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """The series with at most *most* points: the medians of its :func:`blocks`, or itself where it is short enough."""
    if len(x) <= most:
        return x, y
    return _medians(x, most), _medians(y, most)


def _medians(values: Numbers, most: int) -> Numbers:
    first, *others = blocks(len(values), most)
    size = others[0].stop - others[0].start
    rest = np.median(values[first.stop :].reshape(-1, size), axis=1)
    return np.concatenate([[np.median(values[first])], rest])


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
