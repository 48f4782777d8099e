"""Whether a name stands anywhere in torch's own files: certainty that no table of names can give."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["named_in"]

_IN_A_NAME = re.compile(rb"[A-Za-z0-9_]")


def named_in(folder: Path, names: Iterable[str]) -> frozenset[str]:
    """Those of *names* that stand in a Python file or a library below torch's *folder*, as whole words.

    Half a second or more, since the libraries have hundreds of megabytes: asked only for names that look wrong.
    """
    left, found = set(names), set[str]()
    for path in _files(folder):
        found |= {name for name in left if _stands_in(path, name.encode())}
        left -= found
        if not left:
            break
    return frozenset(found)


def _files(folder: Path) -> Iterator[Path]:
    yield from folder.rglob("*.py")
    yield from (folder / "lib").glob("lib*.so")


def _stands_in(path: Path, name: bytes) -> bool:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(name)  # a pattern with a look behind is a hundred times slower
            while at >= 0:
                around = data[max(at - 1, 0) : at], data[at + len(name) : at + len(name) + 1]
                if not any(_IN_A_NAME.match(byte) for byte in around):
                    return True
                at = data.find(name, at + 1)
    except (OSError, ValueError):
        return False  # empty, or not to be read
    return False
