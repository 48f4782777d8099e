"""How the gradients of each parameter went, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["GradientRow", "GradientTable", "ParameterGradients", "Trend"]

Trend = Literal["healthy", "vanishing", "exploding", "spike", "converged"]


class GradientRow(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter in one epoch, means over its steps: the Euclidean ``norm`` and the ``mean`` of the finite numbers,
    the share of zeros (0 to 1), how many numbers were not finite, and the norm as a ratio to the parameter's own."""

    epoch: int
    norm: float
    mean: float
    zero_share: float
    non_finite: int
    to_weight: float | None = None


class ParameterGradients(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter: the word for how it went, and at most some 16 of its epochs, the first and the last among them."""

    name: str
    shape: tuple[int, ...]
    trend: Trend
    rows: tuple[GradientRow, ...]


class GradientTable(msgspec.Struct, frozen=True, kw_only=True):
    """All parameters that had a gradient, over ``epochs`` epochs (steps, where the program does not say)."""

    epochs: int
    parameters: tuple[ParameterGradients, ...]
