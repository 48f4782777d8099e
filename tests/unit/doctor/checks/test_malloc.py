"""Which malloc is in use, and what LD_PRELOAD leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.malloc import check_malloc, malloc_in_use
from tests.unit.doctor.planted import healthy, only, write
from tests.unit.doctor.tiny_elf import write_library


def with_mapped(root: Path, *paths: str) -> None:
    write(root, "proc/self/maps", "".join(f"7f00-7f10 r-xp 00000000 08:01 12 {path}\n" for path in paths))


def test_glibcs_malloc_is_well(tmp_path: Path) -> None:
    with_mapped(tmp_path, "/usr/lib/libc.so.6", "[heap]", "/opt/libjemalloc_notes/x.so")

    check = only(check_malloc(healthy(tmp_path)))

    assert (check.status, check.says) == ("ok", "glibc 2.36's own")


@pytest.mark.parametrize(
    ("file", "name"),
    [("libjemalloc.so.2", "jemalloc"), ("libtcmalloc_minimal.so.4", "tcmalloc"), ("libmimalloc.so.2.1", "mimalloc")],
)
def test_a_malloc_that_stands_in_is_a_note(tmp_path: Path, file: str, name: str) -> None:
    with_mapped(tmp_path, f"/usr/lib/{file}")

    check = only(check_malloc(healthy(tmp_path)))

    assert check.status == "note"
    assert check.says.startswith(f"{name} stands in")
    assert malloc_in_use(healthy(tmp_path)) == name


def test_a_preloaded_library_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    here = healthy(tmp_path, environ={"LD_PRELOAD": "/opt/libjemalloc.so.2 libgone.so"})

    _, by_path, by_name = check_malloc(here)

    assert (by_path.status, by_name.status) == ("problem", "problem")
    assert by_path.says == "LD_PRELOAD names /opt/libjemalloc.so.2, which is not there, so it is not loaded"
    assert "libgone.so" in by_name.says


def test_a_preloaded_library_is_looked_for_as_the_loader_does(tmp_path: Path) -> None:
    write_library(tmp_path / "usr/lib/liba.so")
    write_library(tmp_path / "opt/libb.so")

    checks = check_malloc(healthy(tmp_path, environ={"LD_PRELOAD": "liba.so:/opt/libb.so"}))

    assert [check.says for check in checks[1:]] == ["liba.so is there", "/opt/libb.so is there"]


def test_a_preloaded_library_for_another_machine_is_a_problem_with_both_names(tmp_path: Path) -> None:
    write_library(tmp_path / "opt/liba.so", machine=183)

    _, check = check_malloc(healthy(tmp_path, environ={"LD_PRELOAD": "/opt/liba.so"}))

    assert (check.status, "aarch64" in check.help) == ("problem", True)
