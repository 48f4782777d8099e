"""What torch's libraries ask for."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.checks.libraries import check_libraries
from harness.doctor.surroundings import Surroundings
from tests.unit.doctor.planted import healthy, only
from tests.unit.doctor.tiny_elf import write_library


def with_torch(root: Path, needs: tuple[str, ...] = ("GLIBC_2.28",)) -> Surroundings:
    """A torch of two libraries, and the C library that it is linked against."""
    torch = root / "site/torch"
    write_library(torch / "_C.cpython-311-x86_64-linux-gnu.so", needed=("libtorch.so",), runpath="$ORIGIN/lib")
    write_library(torch / "lib/libtorch.so", needed=("libc.so.6",), needs={"libc.so.6": needs})
    write_library(root / "usr/lib/libc.so.6", defines=("libc.so.6", "GLIBC_2.28", "GLIBC_2.36"))
    return healthy(root, torch_file=torch / "__init__.py")


def test_libraries_that_are_all_there_are_counted(tmp_path: Path) -> None:
    check = only(check_libraries(with_torch(tmp_path)))

    assert check.status == "ok"
    assert check.says.startswith("3 libraries, all there")


def test_a_library_that_is_missing_is_named_with_the_one_that_needs_it(tmp_path: Path) -> None:
    here = with_torch(tmp_path)
    (tmp_path / "site/torch/lib/libtorch.so").unlink()

    check = only(check_libraries(here))

    assert check.status == "problem"
    assert check.says == "libtorch.so is missing, which _C.cpython-311-x86_64-linux-gnu.so needs"


def test_a_version_of_a_symbol_that_is_missing_is_named(tmp_path: Path) -> None:
    check = only(check_libraries(with_torch(tmp_path, needs=("GLIBC_2.28", "GLIBC_2.38"))))

    assert check.status == "problem"
    assert check.says.startswith("libtorch.so needs GLIBC_2.38 of libc.so.6, and ")


def test_a_library_of_torchs_that_is_cut_off_is_a_problem(tmp_path: Path) -> None:
    here = with_torch(tmp_path)
    path = tmp_path / "site/torch/_C.cpython-311-x86_64-linux-gnu.so"
    path.write_bytes(path.read_bytes()[:150])

    check = only(check_libraries(here))

    assert (check.status, "cut off or damaged" in check.says) == ("problem", True)


def test_a_torch_for_another_machine_is_a_problem_with_both_names(tmp_path: Path) -> None:
    here = with_torch(tmp_path)
    write_library(tmp_path / "site/torch/_C.cpython-311-x86_64-linux-gnu.so", machine=183)

    check = only(check_libraries(here))

    assert (check.status, "is for aarch64 (64 bit), and this is x86_64" in check.says) == ("problem", True)


def test_other_systems_and_a_missing_torch_are_no_problem(tmp_path: Path) -> None:
    assert only(check_libraries(healthy(tmp_path, system="Darwin"))).status == "not_here"
    assert only(check_libraries(healthy(tmp_path))).says == "no torch is installed here"
    empty = healthy(tmp_path, torch_file=tmp_path / "torch/__init__.py")
    assert only(check_libraries(empty)).says == f"{tmp_path}/torch has none"
