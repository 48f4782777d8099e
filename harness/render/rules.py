"""What each cause and fault is, and what to do about it in general, for lists of alerts."""

from __future__ import annotations

import msgspec

__all__ = ["NOT_AS_EXPECTED", "RULES", "Rule", "rule_index"]

NOT_AS_EXPECTED = "not_as_expected"
"""The rule of a run that has no finding, and did not end as its scenario says."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """``name`` is the cause's or fault's own (DESIGN's spelling); ``is_fault`` tells these from leaks."""

    name: str
    short: str
    advice: str
    is_fault: bool = False


def rule_index(name: str) -> int | None:
    """The place of *name* in :data:`RULES`; None where a later version found something that this one does not know."""
    return _PLACES.get(name)


def _leak(name: str, short: str, advice: str) -> Rule:
    return Rule(name=name, short=short, advice=advice)


def _fault(name: str, short: str, advice: str) -> Rule:
    return Rule(name=name, short=short, advice=advice, is_fault=True)


RULES: tuple[Rule, ...] = (
    _leak(
        "held_reference",
        "Something that outlives the step keeps its tensors",
        "Drop them when the step is done, keep a number or a detached copy instead, or bound the container.",
    ),
    _leak(
        "autograd_graph_retained",
        "An autograd graph outlives its step",
        "Keep loss.item() or loss.detach() instead of the loss; detach the state that goes from step to step.",
    ),
    _leak(
        "hook_accumulation",
        "Hooks are registered in every step and never removed",
        "Register once, before the loop, or keep the handle and call handle.remove().",
    ),
    _leak(
        "reference_cycle",
        "Reference cycles pile up while the collector is off or does not see them",
        "Break the cycle (weakref, or clear the attribute), or call gc.collect() every so many steps.",
    ),
    _leak(
        "exception_traceback",
        "A kept exception keeps the frames of its traceback, and their tensors",
        "Keep repr(error) or traceback.format_exc() instead of the exception.",
    ),
    _leak(
        "suspended_frame",
        "A generator, coroutine, task or blocked thread keeps its frame's tensors",
        "Run each to its end or close it: a with block (contextlib.closing) does so on every way out.",
    ),
    _leak(
        "view_keeps_storage",
        "A small view keeps its whole storage alive",
        "Keep a copy of the part instead: .clone().",
    ),
    _leak(
        "optimizer_state_growth",
        "The optimizer's state or parameter groups grow",
        "Make the optimizer anew when the parameters change, or change parameters in place under no_grad.",
    ),
    _leak(
        "module_growth",
        "A module gains parameters, buffers, submodules or parametrizations in every step",
        "Register once, before the loop, and change the values in place.",
    ),
    _leak(
        "compile_cache_growth",
        "Caches of compiled, traced or scripted code grow",
        "Compile, trace or script once, outside the step, and pass as arguments what changes.",
    ),
    _leak(
        "python_objects",
        "Python objects grow without tensors",
        "Look for a list, dict or registry that each step adds to: handlers, callbacks, logs, caches.",
    ),
    _leak(
        "native_heap",
        "Native memory grows that neither Python nor torch owns",
        "Look for a C call whose result must be freed, a handle that must be closed, a profiler left running.",
    ),
    _leak(
        "lost_reference",
        "Objects stay alive by a reference count that nobody holds",
        "Look for the extension call that gets the object: each Py_INCREF needs its Py_DECREF.",
    ),
    _leak(
        "thread_growth",
        "Threads are started in every step and do not end",
        "Use one pool of a fixed size for all steps, or stop and join each thread.",
    ),
    _leak(
        "fd_growth", "File descriptors stay open", "Open files in a with block, or close them where they are dropped."
    ),
    _leak(
        "shared_memory_growth",
        "Shared-memory files grow",
        "Publish into one preallocated shared tensor (copy_), and drop shared tensors that were consumed.",
    ),
    _leak(
        "child_process_growth",
        "Child processes are started in every step and do not end, or grow",
        "Use one pool or loader for all steps, and shut down what is replaced.",
    ),
    _leak(
        "scope_not_closed",
        "A resource scope is opened and not closed",
        "Open the scope in a with block, so that it is closed on every way out.",
    ),
    _leak(
        "device_cache_growth",
        "The device memory that torch's cache reserves grows, and what is allocated does not",
        "Make shapes repeat (pad, bucket), or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    ),
    _fault(
        "device_mismatch",
        "Tensors of one operation are on different devices",
        "Move the model and each batch to one device, once, where they are made.",
    ),
    _fault(
        "dtype_mismatch",
        "Tensors of one operation have types that do not go together",
        "Convert once, where the data comes in.",
    ),
    _fault(
        "shape_mismatch",
        "Tensors of one operation have shapes that do not go together",
        "Print both shapes before the line; unsqueeze or reshape the one that is wrong.",
    ),
    _fault(
        "null_gradient",
        "A parameter gets no gradient",
        "Make sure that it is a leaf that requires grad, is used in the loss, and is not detached.",
    ),
    _fault(
        "zero_gradient",
        "A parameter's gradient is zero in every step",
        "Look for a factor 0, a dead activation or a rounding on the path from the parameter to the loss.",
    ),
    _fault(
        "non_finite_gradient",
        "A gradient is infinite or not a number",
        "Lower the rate, clean the data; clip with error_if_nonfinite=True and skip the step.",
    ),
    _fault(
        "non_scalar_loss",
        "backward() is called on a loss that is not one number",
        "Reduce it: loss.mean() or loss.sum().",
    ),
    _fault(
        "gradients_not_zeroed",
        "Gradients of earlier steps are added to those of this one",
        "Call optimizer.zero_grad() before each backward; or accumulate on purpose, and divide the loss.",
    ),
    _fault(
        "gradient_wrong",
        "backward gives another gradient than the central difference",
        "Compare the two term by term: a factor, a sign, a missing input.",
    ),
    _fault(
        "in_place_on_graph",
        "A tensor that backward needs was changed in place",
        "Use the operator that makes a new tensor, or change the leaf under torch.no_grad().",
    ),
    _fault(
        "use_after_close",
        "A tensor was used after its storage was released",
        "Keep what the next round needs in the outer scope; give each round a child scope.",
    ),
    _fault(
        "budget_exceeded",
        "A scope allocated more than its budget",
        "Free what the step no longer needs before this line, use smaller batches, or raise the budget.",
    ),
    _fault("environment", "The installation or the machine is what is wrong", "Run harness doctor."),
    _fault(
        NOT_AS_EXPECTED,
        "A run did not end as its scenario says",
        "Read the reasons; run the scenario again alone: harness run FILE --variant step.",
    ),
)
_PLACES = {rule.name: place for place, rule in enumerate(RULES)}
