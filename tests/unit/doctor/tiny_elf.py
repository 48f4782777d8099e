"""Makes libraries of a few hundred bytes that ask for and define what a test wants, without a compiler."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["write_library"]

_SIZE_OF_HEADERS = 64 + 3 * 56
_BASE, _DYNAMIC_BASE = 0x4000, 0x9000
"""Addresses are not offsets in the file, and differ from them by segment, as in most libraries."""


class _Strings:
    def __init__(self) -> None:
        self.bytes = b"\0"

    def add(self, text: str) -> int:
        at = len(self.bytes)
        self.bytes += text.encode() + b"\0"
        return at


def write_library(
    path: Path,
    *,
    needed: Sequence[str] = (),
    soname: str = "",
    rpath: str = "",
    runpath: str = "",
    needs: Mapping[str, Sequence[str]] | None = None,
    weak: Sequence[str] = (),
    defines: Sequence[str] = (),
    machine: int = 62,
    bits: int = 64,
) -> Path:
    """A shared library at *path*. *needs* maps a library to versions of its symbols; those in *weak* may be missing."""
    strings = _Strings()
    tags = [(1, strings.add(name)) for name in needed]
    tags += [(tag, strings.add(text)) for tag, text in ((14, soname), (15, rpath), (29, runpath)) if text]
    verneed = _verneed(needs or {}, weak, strings)
    verdef = _verdef(defines, strings)
    filler = bytes(-_SIZE_OF_HEADERS % 16 + 16)  # who reads from here as if it were the dynamic section finds its end
    start = _SIZE_OF_HEADERS + len(filler)
    needs_at = start + len(strings.bytes)
    defines_at = needs_at + len(verneed)
    tags.append((5, _BASE + start))
    if needs:
        tags += [(0x6FFFFFFE, _BASE + needs_at), (0x6FFFFFFF, len(needs))]
    if defines:
        tags += [(0x6FFFFFFC, _BASE + defines_at), (0x6FFFFFFD, len(defines))]
    dynamic_at = defines_at + len(verdef)
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in (*tags, (0, 0)))
    content = b"".join(
        (
            _header(machine, bits),
            _segment(1, 0, dynamic_at, _BASE),
            _segment(1, dynamic_at - 8, len(dynamic) + 8, _DYNAMIC_BASE),
            _segment(2, dynamic_at, len(dynamic), _DYNAMIC_BASE),
            *(filler, strings.bytes, verneed, verdef, dynamic),
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _header(machine: int, bits: int) -> bytes:
    identity = b"\x7fELF" + bytes((2 if bits == 64 else 1, 1, 1)) + bytes(9)
    return identity + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)


def _segment(kind: int, offset: int, length: int, base: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, 6, offset, base + offset, base + offset, length, length, 8)


def _verneed(needs: Mapping[str, Sequence[str]], weak: Sequence[str], strings: _Strings) -> bytes:
    content = b""
    for number, (library, versions) in enumerate(needs.items()):
        following = 0 if number == len(needs) - 1 else 16 + 16 * len(versions)
        content += struct.pack("<HHIII", 1, len(versions), strings.add(library), 16, following)
        for place, version in enumerate(versions):
            flags, last = 2 if version in weak else 0, place == len(versions) - 1
            content += struct.pack("<IHHII", 0, flags, 0, strings.add(version), 0 if last else 16)
    return content


def _verdef(defines: Sequence[str], strings: _Strings) -> bytes:
    content = b""
    for number, version in enumerate(defines):
        last = number == len(defines) - 1
        content += struct.pack("<HHHHIII", 1, 0, number, 1, 0, 20, 0 if last else 28)
        content += struct.pack("<II", strings.add(version), 0)
    return content
