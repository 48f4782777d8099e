"""How much memory a program can take."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.checks.memory import check_memory
from tests.unit.doctor.planted import GIB, healthy, only, write


def test_a_machine_with_room_is_well(tmp_path: Path) -> None:
    check = only(check_memory(healthy(tmp_path)))

    assert (check.status, check.says) == ("ok", "12.0 GiB free of 16.0 GiB; no control group limits it")


def test_the_tightest_control_group_is_told(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/pod\n")
    write(tmp_path, "sys/fs/cgroup/pod/memory.max", f"{4 * GIB}\n")
    write(tmp_path, "sys/fs/cgroup/pod/memory.current", f"{GIB}\n")

    check = only(check_memory(healthy(tmp_path)))

    assert check.status == "ok"
    assert check.says.endswith("; control group /pod allows 4.0 GiB, 3.0 GiB of it left")


def test_a_control_group_that_is_nearly_full_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "4:memory:/job\n")
    write(tmp_path, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", f"{GIB}\n")
    write(tmp_path, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", f"{GIB - 2**20}\n")

    check = only(check_memory(healthy(tmp_path)))

    assert (check.status, "1.0 MiB of it left" in check.says) == ("problem", True)


def test_a_machine_without_room_is_a_problem(tmp_path: Path) -> None:
    assert only(check_memory(healthy(tmp_path, available_bytes=100 * 2**20))).status == "problem"


def test_a_limit_on_address_space_is_a_note(tmp_path: Path) -> None:
    _, check = check_memory(healthy(tmp_path, address_space_bytes=8 * GIB))

    assert (check.status, check.says.startswith("limited to 8.0 GiB")) == ("note", True)
