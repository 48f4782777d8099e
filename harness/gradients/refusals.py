"""What a backward is refused for, before it runs. The checks return their errors: raised further out, they hold no
graph."""

from __future__ import annotations

from typing import Any

import torch

from harness.errors import GradientError
from harness.gradients.graph_paths import first_reached
from harness.gradients.named import NamedParameters, listed
from harness.gradients.reasons import why_no_gradient

__all__ = ["refusal"]


def refusal(loss: Any, gradient: torch.Tensor | None, named: NamedParameters) -> GradientError | None:
    """What is wrong with running backward from *loss*, or None."""
    alive = tuple(named)
    if not isinstance(loss, torch.Tensor):
        return _no_tensor(loss, alive)
    never = tuple((name, p) for name, p in alive if not p.is_leaf)
    if never:
        return _null(loss, never)
    able = {id(p): name for name, p in alive if p.requires_grad}
    found = first_reached(loss, able.keys())
    if gradient is None and (loss.numel() != 1 or loss.is_complex()):
        names = (able[found],) if found in able else tuple(name for name, _ in alive)
        return _non_scalar(loss, names)
    return _null(loss, alive) if found is False else None


def _no_tensor(loss: Any, alive: tuple[tuple[str, torch.Tensor], ...]) -> GradientError:
    names = tuple(name for name, _ in alive)
    return GradientError(
        f"{listed(names)} would get no gradient: the loss is of type {type(loss).__name__}, and not a tensor",
        fault="null_gradient",
        parameters=names,
        help="Call backward with the tensor, before .item(), .tolist() or .numpy() makes numbers of it.",
    )


def _non_scalar(loss: torch.Tensor, names: tuple[str, ...]) -> GradientError:
    if loss.numel() == 1:
        what = f"is complex ({loss.dtype})"
        remedy = "Take .real or .abs(), or give the gradient to start from: collector.backward(loss, gradient)."
    else:
        what = f"has {loss.numel()} elements (shape {tuple(loss.shape)})"
        remedy = (
            f"Reduce it: loss.mean() or loss.sum(), which differ by the factor {loss.numel()}; or say what each "
            "element weighs: collector.backward(loss, gradient)."
        )
    return GradientError(
        f"the loss {what}, so there is no one place to start backward from; {listed(names)} would depend on how it is "
        "reduced",
        fault="non_scalar_loss",
        parameters=names,
        help=remedy,
    )


def _null(loss: torch.Tensor, without: tuple[tuple[str, torch.Tensor], ...]) -> GradientError:
    by_reason: dict[str, list[str]] = {}
    for name, parameter in without:
        by_reason.setdefault(why_no_gradient(loss, parameter), []).append(name)
    each = "; ".join(f"{listed(names)}: {reason}" for reason, names in by_reason.items())
    return GradientError(
        f"backward from this loss gives no gradient. {each}" if each else "all parameters of the collector are gone",
        fault="null_gradient",
        parameters=tuple(name for names in by_reason.values() for name in names),
        help=(
            "Make sure that each is a leaf that requires grad (tensor.detach().requires_grad_() makes one), that the "
            "loss is computed from it inside the collector's block, and that nothing on the way is detached."
        ),
    )
