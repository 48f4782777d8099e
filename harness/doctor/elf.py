"""What an ELF library asks of the loader: other libraries, versions of their symbols, folders to look in.

Only the dynamic section is read (elf(5), and the gABI for versions), a few kilobytes of a file of any size.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ["MACHINES", "ElfError", "ElfFile", "VersionNeed", "read_elf"]

MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 21: "ppc64le", 243: "riscv64", 22: "s390x"}
"""e_machine of the header to the name that ``platform.machine()`` has for it."""

_PT_LOAD, _PT_DYNAMIC = 1, 2
_NEEDED, _STRTAB, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29
_VERDEF, _VERDEFNUM, _VERNEED, _VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
_WEAK = 2
_MOST = 100_000
"""Entries of a list that are read: a damaged file may state any number, or go round in a circle."""


class ElfError(Exception):
    """The file is no library, or is cut off. The sentence says which."""


class VersionNeed(msgspec.Struct, frozen=True, kw_only=True):
    """``library`` (a soname) must define ``version`` (``GLIBC_2.28``); a weak one may be missing."""

    library: str
    version: str
    weak: bool


class ElfFile(msgspec.Struct, frozen=True, kw_only=True):
    """``machine`` as platform.machine() names it; the lists are empty for a 32-bit or big-endian library."""

    path: Path
    machine: str
    bits: int
    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    needs: tuple[VersionNeed, ...] = ()
    defines: frozenset[str] = frozenset()


def read_elf(path: Path) -> ElfFile:
    """Raises :class:`ElfError` for what is no ELF file or a damaged one, OSError for what cannot be read."""
    with path.open("rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF" or len(head) < 52:
            raise ElfError("it is not a library (no ELF header)" if head else "it is empty")
        order = "<" if head[5] == 1 else ">"
        number = struct.unpack_from(f"{order}H", head, 18)[0]
        machine, bits = MACHINES.get(number, f"machine {number}"), 64 if head[4] == 2 else 32
        if (bits, order) != (64, "<"):
            return ElfFile(path=path, machine=machine, bits=bits)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _Dynamic(data).read(path, machine)
            except (struct.error, IndexError, ValueError, OverflowError) as error:
                raise ElfError("it is cut off or damaged: what its headers point to is not there") from error


class _Dynamic:
    """The dynamic section of a 64-bit little-endian file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        start, _, _, _, size, count = struct.unpack_from("<QQIHHH", data, 32)
        self._segments = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
        self._tags: dict[int, list[int]] = {}
        for kind, _, offset, _, _, length in self._segments:
            if offset + length > len(data):
                raise ValueError("a segment lies behind the end of the file")
            if kind == _PT_DYNAMIC:
                self._read_tags(offset, length)

    def _read_tags(self, offset: int, length: int) -> None:
        for at in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<QQ", self._data, at)
            if tag == 0:
                return
            self._tags.setdefault(tag, []).append(value)

    def read(self, path: Path, machine: str) -> ElfFile:
        return ElfFile(
            path=path,
            machine=machine,
            bits=64,
            soname="".join(self._strings(_SONAME)),
            needed=self._strings(_NEEDED),
            rpath=_folders(self._strings(_RPATH)),
            runpath=_folders(self._strings(_RUNPATH)),
            needs=tuple(self._needs()),
            defines=frozenset(self._defines()),
        )

    def _strings(self, tag: int) -> tuple[str, ...]:
        return tuple(self._string(offset) for offset in self._tags.get(tag, ()))

    def _string(self, offset: int) -> str:
        start = self._offset(self._tags[_STRTAB][0]) + offset
        end = self._data.find(b"\0", start)
        if end < 0:
            raise ValueError("a name without an end")
        return self._data[start:end].decode(errors="replace")

    def _offset(self, address: int) -> int:
        """Where in the file the byte is that will be at *address*."""
        for kind, _, offset, start, _, length in self._segments:
            if kind == _PT_LOAD and start <= address < start + length:
                return int(offset + address - start)
        raise ValueError("an address outside of all segments")

    def _needs(self) -> Iterator[VersionNeed]:
        for at in self._chain(_VERNEED, _VERNEEDNUM, next_at=12):
            _, count, file, first = struct.unpack_from("<HHII", self._data, at)
            entry = at + first
            for _ in range(count):
                _, flags, _, name, following = struct.unpack_from("<IHHII", self._data, entry)
                yield VersionNeed(library=self._string(file), version=self._string(name), weak=bool(flags & _WEAK))
                entry += following

    def _defines(self) -> Iterator[str]:
        for at in self._chain(_VERDEF, _VERDEFNUM, next_at=16):
            first = struct.unpack_from("<I", self._data, at + 12)[0]
            yield self._string(struct.unpack_from("<I", self._data, at + first)[0])

    def _chain(self, start_tag: int, count_tag: int, *, next_at: int) -> Iterator[int]:
        if start_tag not in self._tags:
            return
        at = self._offset(self._tags[start_tag][0])
        for _ in range(min(self._tags[count_tag][0], _MOST)):
            yield at
            at += struct.unpack_from("<I", self._data, at + next_at)[0]


def _folders(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(folder for path in paths for folder in path.split(":") if folder)
