"""What a tensor's numbers are, in as few reads of it as say so."""

from __future__ import annotations

import cmath

import torch

from harness.gradients.values import values_of
from harness.gradients.watch.calls import State

__all__ = ["count_not_finite", "is_all_zero", "range_of", "state_of"]


def state_of(tensor: torch.Tensor) -> State | None:
    """Whether all of *tensor*'s numbers are finite, one is NaN, or one infinite; None for what has no such numbers."""
    values = _readable(tensor)
    if values is None:
        return None
    if cmath.isfinite(values.sum().item()):  # a finite sum has finite parts
        return "finite"
    if bool(values.isnan().any()):
        return "nan"
    return "infinite" if bool(values.isinf().any()) else "finite"


def is_all_zero(tensor: torch.Tensor) -> bool | None:
    """None where it cannot be read, or has no element."""
    values = values_of(tensor) if tensor.numel() else None
    return None if values is None else not bool(values.any())


def count_not_finite(tensor: torch.Tensor) -> int:
    """How many of its numbers are NaN or infinite."""
    values = _readable(tensor)
    return 0 if values is None else values.numel() - int(torch.isfinite(values).sum())


def range_of(tensor: torch.Tensor) -> str:
    """``-1.5 to 3`` of its finite numbers."""
    values = _readable(tensor)
    if values is None or values.is_complex():
        return "?"
    finite = values[values.isfinite()]
    return f"{finite.min().item():.3g} to {finite.max().item():.3g}" if finite.numel() else "no finite number"


def _readable(tensor: torch.Tensor) -> torch.Tensor | None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    values = values_of(tensor)
    if values is None:
        return None
    return values.float() if values.element_size() <= 2 and values.is_floating_point() else values
