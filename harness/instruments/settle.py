"""What is let go before a boundary is read, and in which order. This file's one job."""

from __future__ import annotations

import gc

__all__ = ["settle"]

_collect = gc.collect  # before a scenario can put something else in its place


def settle(*, collect: bool) -> int:
    """Bring the process to rest; return how many unreachable objects the collector found (0 where not asked).

    1. Unless *collect* is False, a full collection: what only the collector frees would otherwise look like a
       leak until it happens to run. Its count is itself a reading (``python.garbage``).
    2. A second, only if the first found something: finalizers of the first may have let go of more.

    Nothing else is done: emptying a cache or trimming the heap would hide what the program really holds.
    """
    if not collect:
        return 0
    found = _collect()
    if found:
        _collect()
    return found
