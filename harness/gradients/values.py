"""The numbers in a gradient of any layout, where they can be read."""

from __future__ import annotations

import torch

__all__ = ["is_zero", "values_of"]


def values_of(gradient: torch.Tensor) -> torch.Tensor | None:
    """A dense tensor with all numbers of *gradient* that are stored; None where reading one is not possible: on the
    meta device, and while a CUDA graph is captured, which a read would end."""
    if gradient.is_meta or (gradient.is_cuda and torch.cuda.is_current_stream_capturing()):
        return None
    gradient = gradient.detach()
    if gradient.layout is torch.strided:
        return gradient
    if gradient.layout is torch.sparse_coo:
        return gradient.coalesce().values()
    return gradient.values()


def is_zero(gradient: torch.Tensor) -> bool:
    """Whether adding to *gradient* is as good as starting anew. One that cannot be read is taken for it."""
    values = values_of(gradient)
    return values is None or not bool(values.any())
