"""Which file a name leads to, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.doctor.linker import Linker
from tests.unit.doctor.planted import healthy
from tests.unit.doctor.test_ld_cache import a_cache
from tests.unit.doctor.tiny_elf import write_library

if TYPE_CHECKING:
    import pytest


def test_a_library_is_found_along_its_runpath_the_variable_the_cache_and_the_default_folders(tmp_path: Path) -> None:
    start = write_library(tmp_path / "app/a.so", needed=("r.so", "v.so", "c.so", "d.so"), runpath="$ORIGIN/../own")
    places = {"r.so": "own/r.so", "v.so": "var/v.so", "c.so": "cached/c.so", "d.so": "usr/lib/d.so"}
    for place in places.values():
        write_library(tmp_path / place)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.cache").write_bytes(a_cache({"c.so": "/cached/c.so"}))

    linked = Linker(healthy(tmp_path, environ={"LD_LIBRARY_PATH": f"{tmp_path}/var"})).link([start])

    assert linked.missing == ()
    found = {name: linked.files[name].path.resolve() for name in places}
    assert found == {name: (tmp_path / place).resolve() for name, place in places.items()}


def test_the_order_of_the_search_is_the_loaders(tmp_path: Path) -> None:
    for folder in ("rpath", "variable", "runpath", "usr/lib"):
        write_library(tmp_path / folder / "x.so")
    here = healthy(tmp_path, environ={"LD_LIBRARY_PATH": f"{tmp_path}/variable"})
    with_rpath = write_library(tmp_path / "a.so", needed=("x.so",), rpath=f"{tmp_path}/rpath")
    with_runpath = write_library(tmp_path / "b.so", needed=("x.so",), runpath=f"{tmp_path}/runpath")

    taken = [Linker(here).link([start]).files["x.so"].path.parent.name for start in (with_rpath, with_runpath)]
    without = Linker(healthy(tmp_path)).link([with_runpath]).files["x.so"].path.parent.name

    assert (taken, without) == (["rpath", "variable"], "runpath")


def test_the_rpath_of_what_loaded_a_library_counts_for_it_too(tmp_path: Path) -> None:
    write_library(tmp_path / "deep/y.so")
    write_library(tmp_path / "deep/x.so", needed=("y.so",))
    start = write_library(tmp_path / "a.so", needed=("x.so",), rpath="${ORIGIN}/deep")

    assert Linker(healthy(tmp_path)).link([start]).missing == ()


def test_a_library_that_is_nowhere_is_named_with_who_asks_for_it(tmp_path: Path) -> None:
    write_library(tmp_path / "usr/lib/b.so", needed=("gone.so.9",))
    start = write_library(tmp_path / "a.so", needed=("b.so",))

    (missing,) = Linker(healthy(tmp_path)).link([start]).missing

    assert (missing.name, missing.wanted_by.name, missing.other) == ("gone.so.9", "b.so", "")


def test_a_library_for_another_machine_is_passed_over_and_remembered(tmp_path: Path) -> None:
    write_library(tmp_path / "usr/lib64/x.so", machine=183)
    start = write_library(tmp_path / "a.so", needed=("x.so",))

    (missing,) = Linker(healthy(tmp_path)).link([start]).missing
    write_library(tmp_path / "usr/lib/x.so")
    mended = Linker(healthy(tmp_path)).link([start])

    assert "x.so is for aarch64 (64 bit), and this is x86_64" in missing.other
    assert mended.missing == ()


def test_a_name_with_a_slash_is_a_path_and_looked_for_nowhere_else(tmp_path: Path) -> None:
    write_library(tmp_path / "opt/x.so")
    write_library(tmp_path / "usr/lib/y.so")
    start = write_library(tmp_path / "a.so", needed=("/opt/x.so", "/y.so"))

    assert [missing.name for missing in Linker(healthy(tmp_path)).link([start]).missing] == ["/y.so"]


def test_a_path_that_is_not_absolute_starts_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_library(tmp_path / "work/own/x.so")
    monkeypatch.chdir(tmp_path / "work")

    found, _ = Linker(healthy(tmp_path)).find("own/x.so")

    assert found is not None


def test_a_version_that_the_found_library_does_not_define_is_missing(tmp_path: Path) -> None:
    write_library(tmp_path / "usr/lib/libc.so.6", defines=("libc.so.6", "GLIBC_2.28"))
    needs = {"libc.so.6": ("GLIBC_2.28", "GLIBC_2.38", "GLIBC_2.99")}
    start = write_library(tmp_path / "a.so", needed=("libc.so.6",), needs=needs, weak=("GLIBC_2.99",))

    linked = Linker(healthy(tmp_path)).link([start])

    assert [(missing.version, missing.wanted_by.name) for missing in linked.versions] == [("GLIBC_2.38", "a.so")]


def test_libraries_that_ask_for_each_other_are_read_once(tmp_path: Path) -> None:
    write_library(tmp_path / "usr/lib/b.so", needed=("a.so",))
    start = write_library(tmp_path / "usr/lib/a.so", needed=("b.so",))

    assert sorted(Linker(healthy(tmp_path)).link([start]).files) == ["a.so", "b.so"]
