"""The C library against the one that torch needs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.doctor.checks.glibc import check_glibc
from tests.unit.doctor.checks.test_libraries import with_torch
from tests.unit.doctor.planted import healthy, only


def test_a_glibc_that_is_new_enough_is_told_with_what_is_needed(tmp_path: Path) -> None:
    check = only(check_glibc(with_torch(tmp_path)))

    assert (check.status, check.says) == ("ok", "2.36 is here, and torch's libraries need 2.28")


def test_an_older_glibc_than_torch_needs_is_a_problem(tmp_path: Path) -> None:
    here = msgspec.structs.replace(with_torch(tmp_path, needs=("GLIBC_2.4", "GLIBC_2.28")), libc=("glibc", "2.17"))

    check = only(check_glibc(here))

    assert (check.status, check.says) == ("problem", "2.17 is here, and torch's libraries need 2.28")


def test_musl_is_a_problem(tmp_path: Path) -> None:
    check = only(check_glibc(healthy(tmp_path, libc=("", ""))))

    assert check.status == "problem"
    assert "musl" in check.says
