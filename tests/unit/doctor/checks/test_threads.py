"""torch's threads against the processors."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.threads import check_threads
from tests.unit.doctor.planted import a_probe, a_torch, healthy, only, write


def test_as_many_threads_as_processors_are_well(tmp_path: Path) -> None:
    check = only(check_threads(healthy(tmp_path)))

    assert check.status == "ok"
    assert check.says == "torch takes 4 threads in an operator and 4 between them; 4 usable processors"


def test_more_threads_than_processors_are_a_problem(tmp_path: Path) -> None:
    check = only(check_threads(healthy(tmp_path, usable_cpus=2)))

    assert check.status == "problem"
    assert "OMP_NUM_THREADS=2" in check.help


def test_more_threads_than_a_control_group_allows_are_a_problem(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/\n")
    write(tmp_path, "sys/fs/cgroup/cpu.max", "150000 100000\n")

    check = only(check_threads(healthy(tmp_path)))

    assert check.status == "problem"
    assert "4 usable processors, of which a control group allows 1.5" in check.says
    assert "They take turns on 2" in check.help


@pytest.mark.parametrize(("name", "value"), [("OMP_NUM_THREADS", "all"), ("MKL_NUM_THREADS", "0")])
def test_a_variable_that_is_no_number_of_threads_is_a_problem(tmp_path: Path, name: str, value: str) -> None:
    _, check = check_threads(healthy(tmp_path, environ={name: value}))

    assert (check.status, check.says) == ("problem", f"{name}={value!r} is no number of threads, and is not followed")


def test_a_number_for_each_level_is_well(tmp_path: Path) -> None:
    assert only(check_threads(healthy(tmp_path, environ={"OMP_NUM_THREADS": "4,2"}))).status == "ok"


def test_two_variables_that_differ_are_a_note(tmp_path: Path) -> None:
    _, check = check_threads(healthy(tmp_path, environ={"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "2"}))

    assert (check.status, "OMP_NUM_THREADS=4 and MKL_NUM_THREADS=2" in check.says) == ("note", True)


def test_more_threads_asked_for_than_torch_took_are_a_note(tmp_path: Path) -> None:
    _, check = check_threads(healthy(tmp_path, environ={"OMP_NUM_THREADS": "8"}))

    assert (check.status, check.says) == ("note", "OMP_NUM_THREADS=8 asks for more than the 4 that torch took")


def test_without_torch_the_processors_are_told(tmp_path: Path) -> None:
    check = only(check_threads(healthy(tmp_path, probe=a_probe(torch=None))))

    assert (check.status, check.says.startswith("4 usable processors")) == ("not_here", True)


def test_fewer_threads_than_processors_are_well(tmp_path: Path) -> None:
    assert only(check_threads(healthy(tmp_path, probe=a_probe(torch=a_torch(threads=1))))).status == "ok"
