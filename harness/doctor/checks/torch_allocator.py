"""The settings of torch's caching allocator, read as torch reads them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from harness.doctor.answers import note, ok, problem
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["VARIABLES", "check_torch_allocator"]

VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")


def _boolean(value: str) -> str:
    return "" if value in ("True", "False") else "must be True or False"


def _number(value: str) -> str:
    return "" if value.isdigit() else "must be a whole number"


def _at_least(least: int) -> Callable[[str], str]:
    return lambda value: "" if value.isdigit() and int(value) >= least else f"must be a number of MiB, {least} or more"


def _share(value: str) -> str:
    try:
        return "" if 0 < float(value) < 1 else "must lie between 0 and 1"
    except ValueError:
        return "must lie between 0 and 1"


def _fraction(value: str) -> str:
    try:
        return "" if 0 < float(value) <= 1 else "must be above 0 and at most 1"
    except ValueError:
        return "must be above 0 and at most 1"


def _divisions(value: str) -> str:
    """One power of two, or pairs of intervals and divisions, of which 0 turns rounding off."""
    if not value.startswith("["):
        fits = _is_power_of_two(value)
    else:
        pairs = [pair.strip().partition(":") for pair in value.strip("[]").split(",")]
        fits = all(
            (up_to == ">" or _is_power_of_two(up_to)) and (_is_power_of_two(into) or into == "0")
            for up_to, _, into in pairs
        )
    return "" if fits else "must be powers of two: 4, or [256:1,512:2,>:4]"


def _is_power_of_two(text: str) -> bool:
    return text.isdigit() and int(text) > 0 and int(text) & (int(text) - 1) == 0


def _backend(value: str) -> str:
    return "" if value in ("native", "cudaMallocAsync", "hipMallocAsync") else "must be native or cudaMallocAsync"


OPTIONS: dict[str, Callable[[str], str]] = {
    "backend": _backend,
    "expandable_segments": _boolean,
    "garbage_collection_threshold": _share,
    "graph_capture_record_stream_reuse": _boolean,
    "large_segment_size_mb": _at_least(11),
    "max_non_split_rounding_mb": _at_least(20),
    "max_split_size_mb": _at_least(20),
    "per_process_memory_fraction": _fraction,
    "pinned_free_catch_all": _boolean,
    "pinned_max_cached_size_mb": _number,
    "pinned_max_round_threshold_mb": _number,
    "pinned_num_register_threads": _number,
    "pinned_reserve_segment_size_mb": _number,
    "pinned_use_background_threads": _boolean,
    "pinned_use_cuda_host_register": _boolean,
    "pinned_use_hip_host_register": _boolean,
    "release_lock_on_cudamalloc": _boolean,
    "release_lock_on_hipmalloc": _boolean,
    "roundup_power2_divisions": _divisions,
    "throw_on_cudamalloc_oom": _boolean,
}
"""The keys of torch 2.13 (c10/core/AllocatorConfig.h, c10/cuda/CUDAAllocatorConfig.h), each with what it takes."""


def check_torch_allocator(here: Surroundings) -> tuple[Check, ...]:
    """A line for each variable that is set: read, or refused by torch at the first use of the device."""
    values = {name: here.variable(name) for name in VARIABLES if here.variable(name)}
    if not values:
        return (ok("torch's allocator", f"{VARIABLES[0]} is not set"),)
    checks = [_check(name, value) for name, value in values.items()]
    if len(set(values.values())) > 1:
        says = f"{' and '.join(values)} differ, and which of them counts depends on torch's version"
        checks.append(note("torch's allocator", says, "Set one of them; torch 2.13 looks at the CUDA one first."))
    return tuple(checks)


def _check(name: str, value: str) -> Check:
    wrong = [found for found in (_wrong(option) for option in _options(value)) if found]
    if not wrong:
        return ok("torch's allocator", f"{name}={value}")
    advice = "torch refuses it, or goes on without it, at the first use of the device: https://docs.pytorch.org/docs/"
    advice += "stable/notes/cuda.html#memory-management"
    return problem("torch's allocator", f"{name}: {'; '.join(wrong)}", advice)


def _options(value: str) -> list[str]:
    """The parts between commas, those in brackets not among them."""
    return [part.strip() for part in re.findall(r"[^,\[]*\[[^\]]*\]|[^,]+", value) if part.strip()]


def _wrong(option: str) -> str:
    key, colon, value = (part.strip() for part in option.partition(":"))
    if key not in OPTIONS:
        near = difflib.get_close_matches(key, OPTIONS, n=1)
        return f"{key!r} is no option{f', did you mean {near[0]}?' if near else ''}"
    if not colon or not value:
        return f"{key} has no value (write {key}:value)"
    refused = OPTIONS[key](value)
    return f"{key}:{value} {refused}" if refused else ""
