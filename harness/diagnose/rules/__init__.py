"""The rules, one cause a file, in the order in which they are asked: the first that answers is believed.

What is counted directly comes first, then what only certain owners can cause, then what is left.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.diagnose.case import Case, Opinion
from harness.diagnose.rules.autograd_graph_retained import autograd_graph_retained
from harness.diagnose.rules.child_process_growth import child_process_growth
from harness.diagnose.rules.compile_cache_growth import compile_cache_growth
from harness.diagnose.rules.device_cache_growth import device_cache_growth
from harness.diagnose.rules.exception_traceback import exception_traceback
from harness.diagnose.rules.fd_growth import fd_growth
from harness.diagnose.rules.held_reference import held_reference
from harness.diagnose.rules.hook_accumulation import hook_accumulation
from harness.diagnose.rules.lost_reference import lost_reference
from harness.diagnose.rules.module_growth import module_growth
from harness.diagnose.rules.native_heap import native_heap
from harness.diagnose.rules.optimizer_state_growth import optimizer_state_growth
from harness.diagnose.rules.python_objects import python_objects
from harness.diagnose.rules.reference_cycle import reference_cycle
from harness.diagnose.rules.scope_not_closed import scope_not_closed
from harness.diagnose.rules.shared_memory_growth import shared_memory_growth
from harness.diagnose.rules.suspended_frame import suspended_frame
from harness.diagnose.rules.thread_growth import thread_growth
from harness.diagnose.rules.view_keeps_storage import view_keeps_storage

__all__ = ["RULES"]

RULES: tuple[Callable[[Case], Opinion | None], ...] = (
    child_process_growth,
    thread_growth,
    shared_memory_growth,
    fd_growth,
    device_cache_growth,
    reference_cycle,
    scope_not_closed,
    exception_traceback,
    suspended_frame,
    hook_accumulation,
    optimizer_state_growth,
    module_growth,
    compile_cache_growth,
    lost_reference,
    autograd_graph_retained,
    view_keeps_storage,
    held_reference,
    python_objects,
    native_heap,
)
