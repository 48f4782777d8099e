"""The user's own libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.custom_library import check_custom_libraries
from tests.unit.doctor.planted import a_probe, healthy, only, write
from tests.unit.doctor.tiny_elf import write_library


def test_nothing_is_said_where_no_library_was_asked_for(tmp_path: Path) -> None:
    assert check_custom_libraries(healthy(tmp_path)) == ()


def test_a_library_that_loads_is_well(tmp_path: Path) -> None:
    library = write_library(tmp_path / "ops.so")

    check = only(check_custom_libraries(healthy(tmp_path, libraries=(library,))))

    assert (check.name, check.status) == ("ops.so", "ok")


@pytest.mark.parametrize(("name", "says"), [("gone.so", "is not there"), ("tmp", "is not a file")])
def test_a_library_that_is_not_there_or_is_a_folder_is_a_problem(tmp_path: Path, name: str, says: str) -> None:
    check = only(check_custom_libraries(healthy(tmp_path, libraries=(tmp_path / name,))))

    assert (check.status, check.says) == ("problem", f"{tmp_path / name} {says}")


def test_a_library_whose_own_needs_are_missing_names_them(tmp_path: Path) -> None:
    library = write_library(tmp_path / "ops.so", needed=("libcudart.so.99",))

    check = only(check_custom_libraries(healthy(tmp_path, libraries=(library,))))

    assert (check.status, check.says) == ("problem", "libcudart.so.99 is missing, which ops.so needs")


def test_what_torch_has_loaded_counts_as_there(tmp_path: Path) -> None:
    write_library(tmp_path / "torch/lib/libc10.so")
    library = write_library(tmp_path / "ops.so", needed=("libc10.so",))
    here = healthy(tmp_path, libraries=(library,), torch_file=tmp_path / "torch/__init__.py")

    assert only(check_custom_libraries(here)).status == "ok"


def test_a_library_for_another_machine_says_both(tmp_path: Path) -> None:
    library = write_library(tmp_path / "ops.so", machine=183)

    check = only(check_custom_libraries(healthy(tmp_path, libraries=(library,))))

    assert (check.status, "is for aarch64 (64 bit), and this is x86_64" in check.says) == ("problem", True)


def test_a_file_that_is_no_library_is_a_problem(tmp_path: Path) -> None:
    library = write(tmp_path, "ops.so", "#!/bin/sh\n" * 20)

    check = only(check_custom_libraries(healthy(tmp_path, libraries=(library,))))

    assert (check.status, "it is not a library" in check.says) == ("problem", True)


def test_a_symbol_that_torch_does_not_have_is_told_in_the_loaders_words(tmp_path: Path) -> None:
    library = write_library(tmp_path / "ops.so")
    probe = a_probe(libraries={str(library): f"{library}: undefined symbol: _ZN3c104WarnE"})

    check = only(check_custom_libraries(healthy(tmp_path, libraries=(library,), probe=probe)))

    assert (check.status, "undefined symbol: _ZN3c104WarnE" in check.says) == ("problem", True)
    assert "build it again" in check.help


def test_loading_that_kills_the_process_is_a_problem_with_the_signal(tmp_path: Path) -> None:
    library = write_library(tmp_path / "ops.so")
    probe = a_probe(libraries={str(library): "the process died of SIGSEGV"})

    check = only(check_custom_libraries(healthy(tmp_path, libraries=(library,), probe=probe)))

    assert (check.status, check.says) == ("problem", "cannot be loaded: the process died of SIGSEGV")
    assert "when it is loaded" in check.help


def test_a_library_is_not_judged_without_torch(tmp_path: Path) -> None:
    library = write_library(tmp_path / "ops.so")

    check = only(check_custom_libraries(healthy(tmp_path, libraries=(library,), probe=a_probe(torch=None))))

    assert check.status == "not_here"
