"""Which gradients hold numbers that are not finite, and how many."""

from __future__ import annotations

import cmath
from collections.abc import Iterable, Iterator

import msgspec
import torch

from harness.errors import GradientError
from harness.gradients.named import listed
from harness.gradients.values import values_of

__all__ = ["NonFinite", "non_finite", "non_finite_error"]


class NonFinite(msgspec.Struct, frozen=True, kw_only=True):
    """``non_finite`` of the ``elements`` numbers in this parameter's gradient are NaN or infinite."""

    parameter: str
    non_finite: int
    elements: int


def non_finite(named: Iterable[tuple[str, torch.Tensor]]) -> tuple[NonFinite, ...]:
    """The gradients with such numbers. A finite sum has finite parts only, takes one kernel and no memory; all sums are
    started before the first is read. Where one is not (it may only be too large), the numbers are counted."""
    found = []
    with torch.no_grad():
        sums = [(name, values, values.sum()) for name, values in _read(named)]
        for name, values, total in sums:
            if not cmath.isfinite(total.item()):
                count = values.numel() - int(torch.isfinite(values).sum())
                if count:
                    found.append(NonFinite(parameter=name, non_finite=count, elements=values.numel()))
    return tuple(found)


def _read(named: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, parameter in named:
        values = values_of(parameter.grad) if parameter.grad is not None else None
        if values is not None:
            yield name, values.float() if values.element_size() == 1 else values  # 8-bit types have no isfinite


def non_finite_error(found: tuple[NonFinite, ...]) -> GradientError:
    """The error that says all of it."""
    each = listed(f"{f.parameter} ({f.non_finite} of {f.elements} numbers)" for f in found)
    return GradientError(
        f"the gradients of these parameters are NaN or infinite: {each}",
        fault="non_finite_gradient",
        parameters=tuple(f.parameter for f in found),
        help=(
            "Lower the learning rate, clean the data, look for log(0) or an overflow. Call collector.check_finite() "
            "before optimizer.step(): a step with such a gradient spoils the parameter and the optimizer's state."
        ),
    )
