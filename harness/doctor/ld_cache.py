"""``/etc/ld.so.cache``: the libraries that ldconfig found, as the loader looks them up (glibc's dl-cache.h)."""

from __future__ import annotations

import struct
from pathlib import Path

__all__ = ["read_ld_cache"]

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ENTRY = 48, 24


def read_ld_cache(path: Path) -> dict[str, tuple[str, ...]]:
    """File names (``libz.so.1``) to paths, those of all architectures; empty where there is no cache of this form."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    start = data.find(_MAGIC)  # an older form may stand before it
    if start < 0:
        return {}
    found: dict[str, list[str]] = {}
    try:
        count = struct.unpack_from("<I", data, start + len(_MAGIC))[0]
        for number in range(min(count, len(data) // _ENTRY)):
            _, name, value = struct.unpack_from("<iII", data, start + _HEADER + number * _ENTRY)
            found.setdefault(_string(data, start + name), []).append(_string(data, start + value))
    except (struct.error, ValueError):
        return {}
    return {name: tuple(paths) for name, paths in found.items()}


def _string(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode(errors="replace")
