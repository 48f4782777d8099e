"""Is the derivative right? Central differences, on top of torch.autograd.gradcheck."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import torch

from harness.errors import GradientError, UsageError

__all__ = ["central_difference", "check_gradients"]

_Function = Callable[..., Any]
_GRADCHECK_ERROR: Any = sys.modules["torch.autograd.gradcheck"].GradcheckError  # the function of that name hides it


class _Difference(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    index: tuple[int, ...]
    output: int
    analytic: float
    numeric: float

    @property
    def off(self) -> float:
        return abs(self.analytic - self.numeric)


def central_difference(
    function: Callable[[torch.Tensor], torch.Tensor], at: torch.Tensor, *, step: float = 1e-5
) -> torch.Tensor:
    """``(f(x + h) - f(x - h)) / 2h`` for each element of *at*, in its shape; *function* gives one number.

    float64 only: in float32 the difference of two nearby results has hardly a digit that counts, and
    :class:`GradientError` (dtype_mismatch) says so.
    """
    _refuse_short_floats({"at": at})
    with torch.no_grad():
        at = at.detach().clone()
        found, flat = torch.empty_like(at), at.view(-1)
        for i in range(flat.numel()):
            found.view(-1)[i] = _slope(lambda: _one_number(function(at)), flat, i, step)
    return found


def check_gradients(
    function: _Function, inputs: torch.Tensor | Sequence[torch.Tensor], *, step: float = 1e-6, tolerance: float = 1e-5
) -> None:
    """Compare the gradient that backward gives for *function* with what its values say when each input is moved.

    *inputs* are float64 or complex128, and those that require a gradient are checked; *step* is how far each element is
    moved, *tolerance* the difference that is allowed, plus a thousandth of the value. Nothing is said where all is
    right. :class:`GradientError` otherwise: gradient_wrong with the input, its element, both values and their ratio;
    dtype_mismatch for another number type; null_gradient where no input requires a gradient. Near a point where
    the function has no derivative (relu at 0) the two differ although nothing is wrong.
    """
    given = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    names = _names(function, given)
    _refuse_short_floats(dict(zip(names, given, strict=True)))
    if not any(tensor.requires_grad for tensor in given):
        raise GradientError(
            f"none of {', '.join(names)} requires a gradient, so there is none to check",
            fault="null_gradient",
            parameters=names,
            help="Make them with requires_grad=True, or call .requires_grad_() on them.",
        )
    _refuse_chance(function, given, names)
    try:
        torch.autograd.gradcheck(function, given, eps=step, atol=tolerance, rtol=1e-3)
    except _GRADCHECK_ERROR as error:
        raise _wrong(function, given, names, step, str(error)) from None


def _refuse_chance(function: _Function, given: tuple[torch.Tensor, ...], names: tuple[str, ...]) -> None:
    with torch.no_grad():
        once, again = _outputs(function(*given)), _outputs(function(*given))
    if any(not torch.equal(one, other) for one, other in zip(once, again, strict=True)):
        raise GradientError(
            f"{_title(function)} gives other values each time that it is called, so that its derivative cannot be seen",
            fault="gradient_wrong",
            parameters=names,
            help="Turn dropout off (module.eval()), and seed what is random inside the function.",
        )


def _wrong(function: _Function, given: tuple[torch.Tensor, ...], names: tuple[str, ...], step: float, said: str) -> Any:
    worst = max(_differences(function, given, names, step), key=lambda found: found.off, default=None)
    if worst is None or worst.off <= 1e-9:
        return GradientError(
            f"the derivative of {_title(function)} is not right. torch says: {said.strip().splitlines()[0]}",
            fault="gradient_wrong",
            parameters=names,
            help="Compare backward with the function, term by term.",
        )
    where = f"{worst.name}{list(worst.index)}" if worst.index else worst.name
    ratio = f", {worst.analytic / worst.numeric:.4g} times as much" if worst.numeric and worst.analytic else ""
    return GradientError(
        f"the derivative of {_title(function)} with respect to {where} is wrong: backward says {worst.analytic:.8g}, "
        f"the central difference {worst.numeric:.8g}; backward is off by {worst.off:.3g}{ratio}",
        fault="gradient_wrong",
        parameters=(worst.name,),
        factor=worst.analytic / worst.numeric if worst.numeric else None,
        help=f"Look at what backward gives for {worst.name}: a factor, a sign, a term that is missing.",
    )


def _differences(
    function: _Function, given: tuple[torch.Tensor, ...], names: tuple[str, ...], step: float
) -> list[_Difference]:
    """Every partial derivative of every element of every output, as backward says and as the values do."""
    found = []
    for k in range(len(_outputs(function(*given)))):
        output = _outputs(function(*given))[k]
        for name, tensor in zip(names, given, strict=True):
            if tensor.requires_grad:
                found += _of_one(function, given, k, output.numel(), name, tensor, step)
    return found


def _of_one(
    function: _Function,
    given: tuple[torch.Tensor, ...],
    k: int,
    elements: int,
    name: str,
    tensor: torch.Tensor,
    step: float,
) -> list[_Difference]:
    found = []
    flat = tensor.detach().view(-1) if tensor.is_contiguous() else None
    for j in range(elements if flat is not None and not tensor.is_complex() else 0):
        (analytic,) = torch.autograd.grad(_outputs(function(*given))[k].reshape(-1)[j], tensor, allow_unused=True)

        def value(j: int = j) -> float:
            with torch.no_grad():
                return float(_outputs(function(*given))[k].reshape(-1)[j])

        for i in range(tensor.numel()):
            assert flat is not None
            numeric = _slope(value, flat, i, step)
            told = float(analytic.reshape(-1)[i]) if analytic is not None else 0.0
            index = tuple(int(n) for n in torch.unravel_index(torch.tensor(i), tensor.shape)) if tensor.dim() else ()
            found.append(_Difference(name=name, index=index, output=k, analytic=told, numeric=numeric))
    return found


def _slope(value: Callable[[], float], flat: torch.Tensor, i: int, step: float) -> float:
    """Moves element *i* both ways, and puts it back."""
    before = flat[i].clone()
    try:
        flat[i] = before + step
        above = value()
        flat[i] = before - step
        below = value()
    finally:
        flat[i] = before
    return (above - below) / (2 * step)


def _one_number(result: torch.Tensor) -> float:
    if result.numel() != 1:
        raise UsageError(
            f"the function gives {result.numel()} numbers (shape {tuple(result.shape)}); a difference is of one",
            help="Reduce the result (.sum()), or use check_gradients, which takes any shape.",
        )
    return float(result)


def _outputs(result: Any) -> tuple[torch.Tensor, ...]:
    several = result if isinstance(result, tuple | list) else (result,)
    return tuple(tensor for tensor in several if isinstance(tensor, torch.Tensor) and tensor.is_floating_point())


def _refuse_short_floats(inputs: dict[str, torch.Tensor]) -> None:
    for name, tensor in inputs.items():
        if not isinstance(tensor, torch.Tensor):
            raise UsageError(f"{name} is of type {type(tensor).__name__}, and not a tensor", help="Give tensors.")
        if tensor.dtype in (torch.float64, torch.complex128) or not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        digits = math.floor(-math.log10(torch.finfo(tensor.dtype).eps))
        raise GradientError(
            f"{name} is of {tensor.dtype}, which has {digits} digits: the difference of two values that are nearly the "
            "same has none left, and a right derivative would fail (x*x at 3, step 1e-5, gives 6.008 in float32)",
            fault="dtype_mismatch",
            parameters=(name,),
            help="Check in float64: tensor.double(), module.double().",
        )


def _names(function: _Function, given: tuple[Any, ...]) -> tuple[str, ...]:
    """The function's own names for its inputs, where it has as many."""
    try:
        names = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = ()
    return names[: len(given)] if len(names) >= len(given) else tuple(f"inputs[{i}]" for i in range(len(given)))


def _title(function: _Function) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)
