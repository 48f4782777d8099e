"""A tensor that was closed: every use of it is an error that says where it was made, where it was closed, by whom."""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec
import torch
from torch._ops import OpOverload

from harness.errors import UseAfterCloseError

__all__ = ["ClosedTensor", "Closure", "closure_of", "shell"]


class Closure(msgspec.Struct, frozen=True, kw_only=True):
    """Where a tensor came from and how it ended. ``held_by`` says what still holds its storage, if anything does."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    bytes: int
    created_at: str
    closed_at: str
    closed_by: str
    held_by: str | None = None


class ClosedTensor(torch.Tensor):
    """What ``tensor.__class__`` is once it was closed.

    Python reaches ``__torch_function__``. What goes past it (TorchScript, functions of ``torch._C``, blocks that
    disable it) reaches ``__torch_dispatch__`` once the tensor that is left behind is a wrapper without a storage. While
    a graph or another thread still has part in the memory it is not, and then what goes past reads what was there.
    """

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if isinstance(func, OpOverload):
            # A dispatch mode runs in Python what a graph does in C++: a graph that saved the tensor stays right. Where
            # no graph did, the tensor is a wrapper without memory, and __torch_dispatch__ refuses.
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", str(func))
        if name in ("__get__", "__set__", "__delete__"):
            name = getattr(getattr(func, "__self__", None), "__name__", name)
        raise refusal(name, args, kwargs)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override] # the base class has a placeholder there
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> NoReturn:
        refuse(str(func), args, kwargs)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override] # its stub names none
        closure = closure_of(self)
        if closure is None:
            return "<closed tensor>"
        return f"<closed tensor {list(closure.shape)} {closure.dtype}, closed at {closure.closed_at}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse("pickle", (self,), None)


def closure_of(tensor: Any) -> Closure | None:
    """What is known of a closed tensor's end; None for one that is not closed."""
    return tensor.__dict__.get("_harness_closure") if type(tensor) is ClosedTensor else None


def refuse(operator: str, args: Any, kwargs: dict[str, Any] | None) -> NoReturn:
    """Raise for the first closed tensor among the arguments."""
    raise refusal(operator, args, kwargs)


def refusal(operator: str, args: Any, kwargs: dict[str, Any] | None) -> UseAfterCloseError:
    """The error for the first closed tensor among the arguments."""
    closure = _first(args) or _first(tuple((kwargs or {}).values()))
    if closure is None:
        return UseAfterCloseError(f"{operator} was given a tensor that was closed")
    return UseAfterCloseError(
        f"{operator} was given a tensor that is closed: {list(closure.shape)} {closure.dtype} on {closure.device}, "
        f"created at {closure.created_at}, closed at {closure.closed_at} by scope {closure.closed_by}"
    )


def _first(values: Any) -> Closure | None:
    for value in values:
        found = _first(value) if type(value) in (tuple, list) else closure_of(value)
        if found is not None:
            return found
    return None


def shell(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A tensor without elements and without a storage that refuses every operator."""
    with torch._C.DisableTorchFunctionSubclass():
        made = torch.Tensor._make_wrapper_subclass(ClosedTensor, (0,), dtype=dtype, device=device, requires_grad=False)
    assert isinstance(made, torch.Tensor)
    return made
