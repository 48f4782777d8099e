"""Settings of malloc."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.malloc_settings import check_malloc_settings
from tests.unit.doctor.checks.test_malloc import with_mapped
from tests.unit.doctor.planted import healthy, only


def test_no_setting_is_well(tmp_path: Path) -> None:
    assert only(check_malloc_settings(healthy(tmp_path))).says == "none is set"


@pytest.mark.parametrize(
    ("name", "value", "status", "says"),
    [
        ("MALLOC_ARENA_MAX", "2", "ok", "MALLOC_ARENA_MAX=2"),
        ("MALLOC_TRIM_THRESHOLD_", "-1", "ok", "MALLOC_TRIM_THRESHOLD_=-1"),
        ("MALLOC_ARENA_MAX", "two", "problem", "MALLOC_ARENA_MAX='two' is not a number"),
        ("MALLOC_CONF", "background_thread:true", "note", "only jemalloc reads it, and glibc is in use"),
        ("GLIBC_TUNABLES", "glibc.malloc.arena_max=1", "ok", "glibc.malloc.arena_max=1"),
        ("GLIBC_TUNABLES", "glibc.malloc.arenas_max=1", "problem", "sets glibc.malloc.arenas_max"),
        ("GLIBC_TUNABLES", "glibc.malloc.arena_max", "problem", "is no name=value"),
        ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F", "ok", "glibc.cpu.hwcaps=-AVX512F"),
        ("PYTHONMALLOC", "malloc", "note", "every Python object comes from malloc"),
    ],
)
def test_each_setting_is_read_as_its_reader_reads_it(
    tmp_path: Path, name: str, value: str, status: str, says: str
) -> None:
    check = only(check_malloc_settings(healthy(tmp_path, environ={name: value})))

    assert check.status == status
    assert says in check.says


def test_glibcs_settings_mean_nothing_to_another_malloc(tmp_path: Path) -> None:
    with_mapped(tmp_path, "/usr/lib/libjemalloc.so.2")

    check = only(check_malloc_settings(healthy(tmp_path, environ={"MALLOC_ARENA_MAX": "2"})))

    assert (check.status, "jemalloc is in use" in check.says) == ("note", True)


def test_a_misspelled_tunable_names_the_one_that_is_meant(tmp_path: Path) -> None:
    check = only(check_malloc_settings(healthy(tmp_path, environ={"GLIBC_TUNABLES": "glibc.malloc.arenas_max=1"})))

    assert check.help == "Did you mean glibc.malloc.arena_max?"
