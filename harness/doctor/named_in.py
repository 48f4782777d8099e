"""Whether a name stands anywhere in torch's own files: certainty that no table of names can give."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["named_in"]


def named_in(folder: Path, names: Iterable[str]) -> frozenset[str]:
    """Those of *names* that stand in a Python file or a library below torch's *folder*, as whole words.

    A second or two, since the libraries have hundreds of megabytes: asked only for names that look wrong.
    """
    left = {name: re.compile(rb"(?<![A-Za-z0-9_])" + re.escape(name.encode()) + rb"(?![A-Za-z0-9_])") for name in names}
    found: set[str] = set()
    for path in _files(folder):
        if not left:
            break
        here = _search(path, left)
        found |= here
        left = {name: pattern for name, pattern in left.items() if name not in here}
    return frozenset(found)


def _files(folder: Path) -> Iterator[Path]:
    yield from (folder / "lib").glob("lib*.so")
    yield from folder.rglob("*.py")


def _search(path: Path, patterns: dict[str, re.Pattern[bytes]]) -> set[str]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            # find() is ten times faster than the pattern, and nearly every file is done with it.
            return {name for name, p in patterns.items() if data.find(name.encode()) >= 0 and p.search(data)}
    except (OSError, ValueError):
        return set()  # empty, or not to be read
