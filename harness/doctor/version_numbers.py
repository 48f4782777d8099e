"""Versions as numbers that compare."""

from __future__ import annotations

import re

__all__ = ["release"]


def release(version: str) -> tuple[int, ...]:
    """``2.13.0+cpu`` is (2, 13, 0), and so is ``GLIBC_2.13.0``; what follows the numbers does not count."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
