"""What a scenario's author says should happen."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["CAUSES", "FAULTS", "LOOK_ALIKES", "Expectation", "ExpectationKind"]

ExpectationKind = Literal[
    "stable", "leak", "look_alike", "fault", "slower", "higher_peak", "more_allocations", "gradient_wrong"
]

CAUSES: tuple[str, ...] = (
    "held_reference",
    "autograd_graph_retained",
    "hook_accumulation",
    "reference_cycle",
    "exception_traceback",
    "suspended_frame",
    "view_keeps_storage",
    "optimizer_state_growth",
    "module_growth",
    "compile_cache_growth",
    "python_objects",
    "native_heap",
    "lost_reference",
    "thread_growth",
    "fd_growth",
    "shared_memory_growth",
    "child_process_growth",
    "scope_not_closed",
    "device_cache_growth",
)
LOOK_ALIKES: tuple[str, ...] = (
    "warm_up",
    "bounded_cache",
    "allocator_retention",
    "late_collection",
    "periodic_peak",
    "one_time_allocation",
    "page_cache",
    "copy_on_write",
    "shape_cache",
    "steady_churn",
)
FAULTS: tuple[str, ...] = (
    "device_mismatch",
    "dtype_mismatch",
    "shape_mismatch",
    "null_gradient",
    "zero_gradient",
    "non_finite_gradient",
    "non_scalar_loss",
    "gradients_not_zeroed",
    "gradient_wrong",
    "in_place_on_graph",
    "use_after_close",
    "budget_exceeded",
    "environment",
)


class Expectation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One expected result. ``cause`` goes with leak, ``look_alike`` with look_alike, ``fault`` with fault,
    ``at_least`` (a ratio, step against fixed_step) with slower, higher_peak and more_allocations."""

    kind: ExpectationKind
    cause: str | None = None
    look_alike: str | None = msgspec.field(name="class", default=None)
    fault: str | None = None
    at_least: float | None = None
