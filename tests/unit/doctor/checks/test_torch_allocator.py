"""The settings of torch's caching allocator."""

from __future__ import annotations

import subprocess
import sys
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
        ("max_split_size_mb:19", "max_split_size_mb:19 must be a number of MiB, 20 or more"),
        ("roundup_power2_divisions:0", "must be powers of two"),
        ("roundup_power2_divisions:[300:4]", "must be powers of two"),
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

    assert check.status == "note"
    assert check.says.startswith("PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF differ")


ASK_TORCH = """
import sys, torch
for value in sys.argv[1:]:
    try:
        torch._C._accelerator_setAllocatorSettings(value)
        print("read")
    except Exception:
        print("refused")
"""


def test_torchs_own_parser_reads_and_refuses_the_same_settings(tmp_path: Path) -> None:
    import torch

    if not hasattr(torch._C, "_accelerator_setAllocatorSettings"):
        pytest.skip("this torch has no parser that can be asked without a device")
    values = (
        *("expandable_segments:True", "expandable_segments:true", "expandable_segments=True", "expandable_segments"),
        *("max_split_size_mb:19", "max_split_size_mb:20", "max_split_size_mb: 128", "max_split_size_mb:128;a:1"),
        *("max_non_split_rounding_mb:19", "max_non_split_rounding_mb:20", "max_non_split_rounding_mb:x"),
        *("large_segment_size_mb:10", "large_segment_size_mb:11", "large_segment_size_mb:64"),
        *("garbage_collection_threshold:0.8", "garbage_collection_threshold:1.0", "garbage_collection_threshold:x"),
        *("roundup_power2_divisions:4", "roundup_power2_divisions:3", "roundup_power2_divisions:0"),
        *("roundup_power2_divisions:[256:1,512:2,>:4]", "roundup_power2_divisions:[>:0]"),
        *("roundup_power2_divisions:[256:3]", "roundup_power2_divisions:[300:4]"),
    )

    done = subprocess.run([sys.executable, "-c", ASK_TORCH, *values], capture_output=True, text=True, check=True)

    statuses = [
        only(check_torch_allocator(healthy(tmp_path, environ={"PYTORCH_ALLOC_CONF": value}))).status for value in values
    ]
    ours = {value: status == "ok" for value, status in zip(values, statuses, strict=True)}
    theirs = {value: line == "read" for value, line in zip(values, done.stdout.split(), strict=True)}
    assert ours == theirs
