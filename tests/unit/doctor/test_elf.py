"""The reader of libraries: what they ask for, and what is no library."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.doctor.elf import ElfError, VersionNeed, read_elf
from tests.unit.doctor.tiny_elf import write_library


def test_a_library_says_what_it_asks_for_and_what_it_defines(tmp_path: Path) -> None:
    path = write_library(
        tmp_path / "liba.so",
        needed=("libb.so", "libc.so.6"),
        soname="liba.so.1",
        runpath="$ORIGIN:/opt/lib",
        needs={"libc.so.6": ("GLIBC_2.28", "GLIBC_2.34"), "libb.so": ("B_1",)},
        weak=("GLIBC_2.34",),
        defines=("liba.so.1", "A_1"),
    )

    read = read_elf(path)

    assert (read.machine, read.bits, read.soname) == ("x86_64", 64, "liba.so.1")
    assert read.needed == ("libb.so", "libc.so.6")
    assert (read.rpath, read.runpath) == ((), ("$ORIGIN", "/opt/lib"))
    assert read.needs == (
        VersionNeed(library="libc.so.6", version="GLIBC_2.28", weak=False),
        VersionNeed(library="libc.so.6", version="GLIBC_2.34", weak=True),
        VersionNeed(library="libb.so", version="B_1", weak=False),
    )
    assert read.defines == {"liba.so.1", "A_1"}


@pytest.mark.skipif(sys.platform != "linux", reason="Python's own file is an ELF file on Linux only")
def test_python_itself_is_read() -> None:
    read = read_elf(Path(sys.executable).resolve())

    assert any(name.startswith("libc.") for name in read.needed)


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "it is empty"), (b"#!/bin/sh\necho\n" * 9, "no ELF header"), (b"\x7fELF\x02\x01", "no ELF header")],
    ids=["empty", "script", "six bytes"],
)
def test_what_is_no_library_is_refused_in_a_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)

    with pytest.raises(ElfError, match=says):
        read_elf(path)


def test_a_library_that_is_cut_off_anywhere_is_refused_and_never_misread(tmp_path: Path) -> None:
    whole = write_library(tmp_path / "liba.so", needed=("libb.so",), needs={"libb.so": ("B_1",)}).read_bytes()
    cut = tmp_path / "cut.so"

    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(ElfError):
            read_elf(cut)


def test_a_32_bit_library_is_known_by_its_header(tmp_path: Path) -> None:
    read = read_elf(write_library(tmp_path / "old.so", machine=3, bits=32))

    assert (read.machine, read.bits, read.needed) == ("i386", 32, ())
