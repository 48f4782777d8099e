"""Set gradients to nothing: of the named parameters, and of no other."""

from __future__ import annotations

from collections.abc import Iterable

import torch

__all__ = ["set_to_none", "set_to_zero"]


def set_to_none(named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """``grad = None``: what else names the gradient keeps its numbers."""
    for _, parameter in named:
        parameter.grad = None


def set_to_zero(named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Zeros are written over the numbers, where they are: a view into a bucket or a captured graph stays what it is.
    (``g - g`` and ``g * 0`` would leave NaN where there was one.)"""
    with torch.no_grad():
        for _, parameter in named:
            gradient = parameter.grad
            if gradient is None:
                continue
            if gradient.grad_fn is not None or gradient.is_inference():
                # A graph made with create_graph=True may still need it; an inference tensor cannot be written to.
                parameter.grad = torch.zeros_like(gradient)
            else:
                gradient.requires_grad_(False).zero_()
