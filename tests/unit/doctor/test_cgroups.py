"""Limits of control groups, in both versions of the interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.cgroups import MemoryLimit, cpu_quota, memory_limits
from tests.unit.doctor.planted import GIB, healthy, write

TOP = "sys/fs/cgroup"


def test_the_group_with_the_least_room_comes_first_whatever_its_level(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/pod/job\n")
    for group, most, current in (("pod/job", 8 * GIB, GIB), ("pod", 6 * GIB, 5 * GIB)):
        write(tmp_path, f"{TOP}/{group}/memory.max", str(most))
        write(tmp_path, f"{TOP}/{group}/memory.current", str(current))

    limits = memory_limits(healthy(tmp_path))

    assert limits == (
        MemoryLimit(group="/pod", limit_bytes=6 * GIB, room_bytes=GIB),
        MemoryLimit(group="/pod/job", limit_bytes=8 * GIB, room_bytes=7 * GIB),
    )


def test_file_pages_that_can_be_dropped_are_room(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/\n")
    write(tmp_path, f"{TOP}/memory.max", str(4 * GIB))
    write(tmp_path, f"{TOP}/memory.current", str(4 * GIB))
    write(tmp_path, f"{TOP}/memory.stat", f"anon 1\ninactive_file {3 * GIB}\n")

    assert [limit.room_bytes for limit in memory_limits(healthy(tmp_path))] == [3 * GIB]


def test_a_path_of_the_hosts_leads_to_the_containers_own_group(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "6:memory:/docker/0123\n")
    write(tmp_path, f"{TOP}/memory/memory.limit_in_bytes", str(GIB))

    assert [limit.group for limit in memory_limits(healthy(tmp_path))] == ["/"]


@pytest.mark.parametrize(
    ("file", "value"), [("memory.max", "max"), ("memory/memory.limit_in_bytes", str(2**63 - 4096))]
)
def test_no_limit_is_none(tmp_path: Path, file: str, value: str) -> None:
    write(tmp_path, "proc/self/cgroup", "6:memory:/\n0::/\n")
    write(tmp_path, f"{TOP}/{file}", value)

    assert memory_limits(healthy(tmp_path)) == ()


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "250000 100000"}, 2.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu,cpuacct/cpu.cfs_quota_us": "50000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 0.5),
        ({"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_processors_is_read(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    write(tmp_path, "proc/self/cgroup", "3:cpu,cpuacct:/\n0::/\n")
    for file, value in files.items():
        write(tmp_path, f"{TOP}/{file}", value)

    assert cpu_quota(healthy(tmp_path)) == quota


def test_a_machine_without_control_groups_has_no_limits(tmp_path: Path) -> None:
    here = healthy(tmp_path)

    assert (memory_limits(here), cpu_quota(here)) == ((), None)
