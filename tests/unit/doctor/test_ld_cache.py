"""The loader's cache."""

from __future__ import annotations

import struct
from pathlib import Path

from harness.doctor.ld_cache import read_ld_cache


def a_cache(libraries: dict[str, str]) -> bytes:
    """A cache with these names and paths, in glibc's newer form."""
    strings_at = 48 + 24 * len(libraries)
    entries, strings = b"", b""
    for name, path in libraries.items():
        name_at = strings_at + len(strings)
        strings += name.encode() + b"\0"
        entries += struct.pack("<iIIIQ", 0x303, name_at, strings_at + len(strings), 0, 0)
        strings += path.encode() + b"\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(libraries), len(strings))
    return head.ljust(48, b"\0") + entries + strings


def test_the_cache_leads_from_names_to_paths(tmp_path: Path) -> None:
    file = tmp_path / "ld.so.cache"
    file.write_bytes(a_cache({"liba.so.1": "/opt/liba.so.1", "libb.so": "/usr/lib/libb.so"}))

    assert read_ld_cache(file) == {"liba.so.1": ("/opt/liba.so.1",), "libb.so": ("/usr/lib/libb.so",)}


def test_an_older_form_in_front_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "ld.so.cache"
    file.write_bytes(b"ld.so-1.7.0" + bytes(37) + a_cache({"liba.so": "/liba.so"}))

    assert read_ld_cache(file) == {"liba.so": ("/liba.so",)}


def test_a_cache_that_is_missing_cut_off_or_something_else_is_empty(tmp_path: Path) -> None:
    cut, other = tmp_path / "cut", tmp_path / "other"
    cut.write_bytes(a_cache({"liba.so": "/liba.so"})[:60])
    other.write_bytes(b"text")

    assert [read_ld_cache(path) for path in (tmp_path / "none", cut, other)] == [{}, {}, {}]
