"""Which parameters a collector is for: their names, and the tensors, held weakly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch.utils.weak import TensorWeakRef

from harness.errors import UsageError

__all__ = ["NamedParameters", "Parameters", "listed"]

Parameters: TypeAlias = (
    torch.nn.Module | torch.Tensor | Mapping[str, torch.Tensor] | Iterable[torch.Tensor | tuple[str, torch.Tensor]]
)
"""A module, one tensor, or tensors with names (a mapping, pairs) or without (they are called ``parameters[0]``...)."""

_SHOWN = 4


class NamedParameters:
    """The parameters by name, each once. Whoever made them keeps them: one that has died is left out."""

    def __init__(self, parameters: Parameters) -> None:
        self._weak: dict[str, Any] = {}
        seen: set[int] = set()
        for name, tensor in _pairs(parameters):
            if not isinstance(tensor, torch.Tensor):
                raise UsageError(
                    f"{name} is of type {type(tensor).__name__}, and not a tensor",
                    help="Give a module, tensors, or pairs of a name and a tensor.",
                )
            if id(tensor) in seen:
                continue  # tied: one tensor has one gradient
            if name in self._weak:
                raise UsageError(
                    f"two parameters are called {name}, so that an error could not say which one it is about",
                    help='Tell them apart: model.named_parameters(prefix="encoder").',
                )
            seen.add(id(tensor))
            self._weak[name] = TensorWeakRef(tensor)
        if not self._weak:
            raise UsageError(
                "there is no parameter among what the collector was given",
                help="model.parameters() can be gone through only once: give the module, or a list.",
            )

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, weak in self._weak.items():
            tensor = weak()
            if tensor is not None:
                yield name, tensor


def _pairs(parameters: Parameters) -> Iterable[tuple[str, Any]]:
    if isinstance(parameters, torch.nn.Module):
        return parameters.named_parameters()
    if isinstance(parameters, torch.Tensor):
        return [("parameters[0]", parameters)]
    if isinstance(parameters, Mapping):
        return [(str(name), tensor) for name, tensor in parameters.items()]
    if not isinstance(parameters, Iterable):
        raise UsageError(
            f"a collector's parameters cannot be of type {type(parameters).__name__}",
            help="Give a module, tensors, or pairs of a name and a tensor.",
        )
    return [_pair(i, item) for i, item in enumerate(parameters)]


def _pair(i: int, item: Any) -> tuple[str, Any]:
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
        return item
    return f"parameters[{i}]", item


def listed(names: Iterable[str]) -> str:
    """``weight, bias and 10 more``."""
    every = tuple(names)
    more = len(every) - _SHOWN
    if more > 1:
        return f"{', '.join(every[:_SHOWN])} and {more} more"
    return " and ".join(filter(None, (", ".join(every[:-1]), every[-1] if every else "")))
