"""The settings of torch's caching allocator."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.torch_allocator import check_torch_allocator
from tests.unit.doctor.planted import healthy, only


def test_no_setting_is_well(tmp_path: Path) -> None:
    assert only(check_torch_allocator(healthy(tmp_path))).status == "ok"


@pytest.mark.parametrize(
    "value",
    [
        "expandable_segments:True",
        "max_split_size_mb:128,garbage_collection_threshold:0.8",
        "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],backend:native",
        "roundup_power2_divisions:4, per_process_memory_fraction:1.0",
    ],
)
def test_what_torch_reads_is_well(tmp_path: Path, value: str) -> None:
    check = only(check_torch_allocator(healthy(tmp_path, environ={"PYTORCH_ALLOC_CONF": value})))

    assert (check.status, check.says) == ("ok", f"PYTORCH_ALLOC_CONF={value}")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("max_split_size:128", "'max_split_size' is no option, did you mean max_split_size_mb?"),
        ("max_split_size_mb:20", "max_split_size_mb:20 must be a number of MiB above 20"),
        ("expandable_segments:true", "expandable_segments:true must be True or False"),
        ("expandable_segments=True", "'expandable_segments=True' is no option, did you mean expandable_segments?"),
        ("expandable_segments", "expandable_segments has no value"),
        ("garbage_collection_threshold:80", "must lie between 0 and 1"),
        ("garbage_collection_threshold:high", "must lie between 0 and 1"),
        ("per_process_memory_fraction:2", "must be above 0 and at most 1"),
        ("per_process_memory_fraction:x", "must be above 0 and at most 1"),
        ("roundup_power2_divisions:[256:3]", "must be powers of two"),
        ("backend:cuda", "must be native or cudaMallocAsync"),
        ("pinned_num_register_threads:many", "must be a whole number"),
    ],
)
def test_what_torch_refuses_is_a_problem_with_the_option(tmp_path: Path, value: str, says: str) -> None:
    check = only(check_torch_allocator(healthy(tmp_path, environ={"PYTORCH_CUDA_ALLOC_CONF": value})))

    assert check.status == "problem"
    assert check.says.startswith("PYTORCH_CUDA_ALLOC_CONF: ")
    assert says in check.says


def test_two_variables_that_differ_are_a_note_on_which_one_counts(tmp_path: Path) -> None:
    environ = {"PYTORCH_CUDA_ALLOC_CONF": "backend:native", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}

    *_, check = check_torch_allocator(healthy(tmp_path, environ=environ))

    assert (check.status, check.says.endswith("newer reads PYTORCH_ALLOC_CONF")) == ("note", True)
