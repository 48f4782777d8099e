"""Variables that nothing reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.variables import check_variables
from tests.unit.doctor.planted import healthy, only, write


def test_variables_that_are_read_are_counted(tmp_path: Path) -> None:
    environ = {"PYTORCH_ALLOC_CONF": "", "CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "4", "PATH": "/bin"}

    check = only(check_variables(healthy(tmp_path, environ=environ)))

    assert (check.status, check.says.startswith("3 variables")) == ("ok", True)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("PYTORCH_CUDA_ALLOC_CONFIG", "PYTORCH_CUDA_ALLOC_CONF"),
        ("TORCH_CUDA_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
        ("CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"),
        ("CUDA_LAUNCH_BLOCK", "CUDA_LAUNCH_BLOCKING"),
        ("MALLOC_ARENAS_MAX", "MALLOC_ARENA_MAX"),
        ("MALLOC_TRIM_THRESHOLD", "MALLOC_TRIM_THRESHOLD_"),
        ("OMP_NUM_THREAD", "OMP_NUM_THREADS"),
        ("omp_num_threads", "OMP_NUM_THREADS"),
        ("TORCHINDUCTOR_CACHEDIR", "TORCHINDUCTOR_CACHE_DIR"),
        ("LD_PRELOADS", "LD_PRELOAD"),
    ],
)
def test_a_misspelled_name_is_a_problem_with_the_one_that_is_meant(tmp_path: Path, name: str, meant: str) -> None:
    check = only(check_variables(healthy(tmp_path, environ={name: "1"})))

    assert (check.status, check.says) == ("problem", f"{name} is set, and nothing reads it")
    assert check.help == f"Did you mean {meant}? Else unset it."


def test_a_name_that_stands_in_torchs_own_files_is_read_whatever_the_table_says(tmp_path: Path) -> None:
    write(tmp_path, "torch/_inductor/config.py", "x = os.environ.get('TORCHINDUCTOR_CACHE_DIRS')\n")
    environ = {"TORCHINDUCTOR_CACHE_DIRS": "1"}

    without = only(check_variables(healthy(tmp_path, environ=environ)))
    within = only(check_variables(healthy(tmp_path, environ=environ, torch_file=tmp_path / "torch/__init__.py")))

    assert (without.status, within.status) == ("problem", "ok")


@pytest.mark.parametrize(("name", "reader"), [("MALLOC_SPEED", "glibc's malloc"), ("TORCHDYNAMO_FLY", "this torch")])
def test_a_prefix_that_only_one_reader_uses_makes_an_unread_name_certain(
    tmp_path: Path, name: str, reader: str
) -> None:
    here = healthy(tmp_path, environ={name: "1"}, torch_file=write(tmp_path, "torch/__init__.py", ""))

    check = only(check_variables(here))

    assert (check.status, check.says) == ("note", f"{name} is set, and {reader} has no setting of that name")


@pytest.mark.parametrize("name", ["CUDA_MY_CLUSTER_QUEUE", "TORCH_MY_PROJECT_FLAG", "NCCL_IB_HCAS", "MY_OMP"])
def test_nothing_is_said_of_a_name_that_something_else_may_read(tmp_path: Path, name: str) -> None:
    here = healthy(tmp_path, environ={name: "1"}, torch_file=write(tmp_path, "torch/__init__.py", ""))

    assert only(check_variables(here)).status == "ok"
