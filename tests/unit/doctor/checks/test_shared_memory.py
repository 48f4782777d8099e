"""/dev/shm."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.checks.shared_memory import check_shared_memory
from tests.unit.doctor.planted import healthy, only


def test_a_large_one_is_well(tmp_path: Path) -> None:
    assert only(check_shared_memory(healthy(tmp_path))).status == "ok"


def test_the_default_of_a_container_is_a_note(tmp_path: Path) -> None:
    check = only(check_shared_memory(healthy(tmp_path, shared_memory_bytes=64 * 2**20)))

    assert (check.status, check.says) == ("note", "/dev/shm has 64.0 MiB")
    assert "--shm-size" in check.help


def test_none_at_all_is_a_problem(tmp_path: Path) -> None:
    assert only(check_shared_memory(healthy(tmp_path, shared_memory_bytes=None))).status == "problem"


def test_nothing_is_said_where_it_does_not_exist(tmp_path: Path) -> None:
    assert check_shared_memory(healthy(tmp_path, system="Darwin", shared_memory_bytes=None)) == ()
