"""Why a parameter gets no gradient from a loss: one cause, one rule; the first that has something to say is heard."""

from __future__ import annotations

from collections.abc import Callable

import torch

__all__ = ["why_no_gradient"]


def _frozen(loss: torch.Tensor, parameter: torch.Tensor) -> str | None:
    if parameter.requires_grad:
        return None
    return "it does not require a gradient (requires_grad is False)"


def _not_a_leaf(loss: torch.Tensor, parameter: torch.Tensor) -> str | None:
    if parameter.is_leaf:
        return None
    made_by = type(parameter.grad_fn).__name__
    return f"it is no leaf but the result of {made_by}, and a gradient that a step can use is only kept for leaves"


def _inference(loss: torch.Tensor, parameter: torch.Tensor) -> str | None:
    return "the loss was made under torch.inference_mode()" if loss.is_inference() else None


def _gradients_off(loss: torch.Tensor, parameter: torch.Tensor) -> str | None:
    if loss.requires_grad or torch.is_grad_enabled():
        return None
    return "gradients are turned off here, inside the collector's block (torch.no_grad())"


def _integers(loss: torch.Tensor, parameter: torch.Tensor) -> str | None:
    if loss.is_floating_point() or loss.is_complex():
        return None
    return f"the loss is of {loss.dtype}, and only floating and complex numbers have gradients"


def _no_graph(loss: torch.Tensor, parameter: torch.Tensor) -> str | None:
    if loss.requires_grad:
        return None
    return "the loss has no graph: it was detached, made before the block under no_grad, or made of constants"


def _unused(loss: torch.Tensor, parameter: torch.Tensor) -> str | None:
    return "the loss's graph does not lead to it: it is not used in the loss, or what was made of it was detached"


_RULES: tuple[Callable[[torch.Tensor, torch.Tensor], str | None], ...] = (
    _frozen,
    _not_a_leaf,
    _inference,
    _gradients_off,
    _integers,
    _no_graph,
    _unused,  # always has something to say
)


def why_no_gradient(loss: torch.Tensor, parameter: torch.Tensor) -> str:
    """The reason, as half a sentence."""
    return next(reason for reason in (rule(loss, parameter) for rule in _RULES) if reason is not None)
