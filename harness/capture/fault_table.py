"""Which fault an exception from torch is, by its words. A table, so that a newcomer can add a line."""

from __future__ import annotations

import re
import traceback

from harness.capture.exception_text import text_of, users_traceback
from harness.errors import GradientError, HarnessError
from harness.ledger.sites import is_users_file
from harness.model.recording import FaultRecord

__all__ = ["fault_of", "is_out_of_memory"]

_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # fault, what torch 2.9-2.13 says (regular expressions), what it means in plain words
    (
        "budget_exceeded",
        (r"^BudgetExceededError", r"^RuntimeError: scope .* would exceed its budget"),
        "a scope was about to own more bytes than its budget",
    ),
    ("use_after_close", (r"^UseAfterCloseError",), "a tensor was used after its scope, or somebody, had closed it"),
    (
        "device_mismatch",
        (r"on the same device", r"is not on the expected device", r"FakeTensorDeviceMismatch"),
        "tensors on two devices met in one operator",
    ),
    (
        "non_scalar_loss",
        (r"grad can be implicitly created only for scalar outputs",),
        "backward was called on a tensor with more than one element, so there is no one place to start from",
    ),
    (
        "null_gradient",
        (r"does not require grad and does not have a grad_fn",),
        "backward was called on a tensor that no graph leads to: detached, made under no_grad, or from no parameter",
    ),
    (
        "in_place_on_graph",
        (r"modified by an inplace operation", r"a leaf Variable that requires grad is being used in an in-place"),
        "a tensor that the graph needs for backward was changed in place",
    ),
    (
        "dtype_mismatch",
        (r"the same dtype", r"expected scalar type", r"Only Tensors of floating point", r"expected .* dtype to be",
         r"Input type \(.*\) and .* should be the same",
         r"mean\(\): could not infer output dtype"),
        "tensors of two number types met, or integers were asked for a gradient",
    ),
    (
        "shape_mismatch",
        (r"shapes cannot be multiplied", r"size mismatch", r"must match the size of tensor", r"shape '.*' is invalid",
         r"Sizes of tensors must match", r"must match the existing size",
         r"doesn't match the broadcast shape"),
        "the shapes of two tensors do not fit together",
    ),
    ("non_finite_gradient", (r"non-finite", r"returned nan values"), "a gradient is not a finite number"),
    (
        "gradients_not_zeroed",
        (r"^GradientError: .* since they were last set to nothing",),
        "a gradient was added to that should have been set to nothing",
    ),
    (
        "gradient_wrong",
        (r"Jacobian mismatch for output",),
        "backward gives another derivative than the function's own values do",
    ),
)  # fmt: skip

_COMPILED = tuple((fault, re.compile("|".join(words), re.IGNORECASE), plain) for fault, words, plain in _PATTERNS)
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|bad_alloc|Cannot allocate memory")


def fault_of(error: BaseException, step: int) -> FaultRecord | None:
    """The fault that *error* shows, at the innermost line of the user's own code; None where it is no known one."""
    said = text_of(error)
    text = f"{type(error).__name__}: {said}"
    told = error.fault if isinstance(error, GradientError) else None
    for fault, pattern, plain in _COMPILED:
        if fault == told if told is not None else pattern.search(text):
            origin = error.__cause__ if fault == "budget_exceeded" and error.__cause__ is not None else error
            frames = [f for f in traceback.extract_tb(users_traceback(origin)) if is_users_file(f.filename)]
            frames = frames or [f for f in traceback.extract_tb(users_traceback(error)) if is_users_file(f.filename)]
            at = frames[-1] if frames else None
            speaker = ": " if isinstance(error, HarnessError) else ". torch says: "
            return FaultRecord(
                fault=fault,
                explanation=f"{plain}{speaker}{_first_line(said)}",
                step=step,
                raised=True,
                path=at.filename if at else None,
                line=at.lineno if at else None,
                function=at.name if at else None,
                source=at.line if at else None,
                factor=round(error.factor) if isinstance(error, GradientError) and error.factor else None,
            )
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether *error* says that memory ran out: Python's, torch's, the C++ library's or the system's word for it."""
    return isinstance(error, MemoryError) or (
        isinstance(error, (RuntimeError, OSError)) and _OUT_OF_MEMORY.search(text_of(error)) is not None
    )


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:300]
