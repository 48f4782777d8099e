"""What the user calls a tensor: a variable of a running function or of its module, or a parameter of a module there.

Objects are looked into through their plain dictionaries: nothing of the user's runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

import torch
from torch.utils.weak import TensorWeakRef

__all__ = ["Labels"]

_DEEPEST = 4
_MOST_ELEMENTS = 64
_MOST_SEARCHES = 64


class Labels:
    """Names that were found are kept; *explicit* ones count first."""

    def __init__(self, explicit: Iterable[tuple[str, torch.Tensor]] = ()) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        self._searches = 0
        for name, tensor in explicit:
            self._keep(name, tensor)

    def of(self, tensor: torch.Tensor, frames: tuple[FrameType, ...]) -> str | None:
        """The name of *tensor* in *frames* (the innermost first). A leaf that requires a gradient is looked for in
        modules and containers as well, and from the outermost frame on: ``model.0.weight`` says more than ``self``."""
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        name = _variable(tensor, frames)
        if name is None and isinstance(tensor, torch.nn.Parameter):
            name = self._searched(tensor, frames)
        return name

    def parameter(self, tensor: torch.Tensor, frames: tuple[FrameType, ...]) -> str | None:
        """As :meth:`of`, and a plain tensor is looked for in modules and containers too."""
        return self.of(tensor, frames) or self._searched(tensor, frames)

    def _searched(self, tensor: torch.Tensor, frames: tuple[FrameType, ...]) -> str | None:
        if self._searches >= _MOST_SEARCHES:
            return None
        self._searches += 1
        for frame in reversed(frames):
            for variables in (frame.f_locals, frame.f_globals):
                for name, value in list(variables.items()):
                    for found, inner in _tensors_in(name, value):
                        self._keep(found, inner)
        known = self._known.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def _keep(self, name: str, tensor: torch.Tensor) -> None:
        known = self._known.get(id(tensor))
        if known is None or known[0]() is not tensor:
            self._known[id(tensor)] = (TensorWeakRef(tensor), name)


def _variable(tensor: torch.Tensor, frames: tuple[FrameType, ...]) -> str | None:
    for frame in frames[:1]:
        for variables in (frame.f_locals, frame.f_globals):
            for name, value in list(variables.items()):
                if value is tensor:
                    return name
    return None


def _tensors_in(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that *value* is, or has: by attribute, by key, by index."""
    kind = type(value)
    if depth > _DEEPEST or name.startswith("__"):
        return
    if issubclass(kind, torch.Tensor):
        yield name, value
    elif issubclass(kind, torch.nn.Module):
        yield from _of_module(name, value, depth)
    elif kind in (dict, list, tuple):
        pairs = list(value.items()) if kind is dict else list(enumerate(value))
        for key, inner in pairs[:_MOST_ELEMENTS]:
            if isinstance(key, str | int):
                yield from _tensors_in(f"{name}[{key!r}]", inner, depth + 1)
    elif depth == 0 and kind.__module__ not in ("builtins", "torch") and isinstance(vars_of(value), dict):
        for attribute, inner in list(vars_of(value).items())[:_MOST_ELEMENTS]:
            if issubclass(type(inner), torch.Tensor | torch.nn.Module):
                yield from _tensors_in(f"{name}.{attribute}", inner, depth + 1)


def _of_module(name: str, module: torch.nn.Module, depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    attributes = vars_of(module)
    for registry in ("_parameters", "_buffers"):
        for key, tensor in list(attributes.get(registry, {}).items()):
            if tensor is not None:
                yield f"{name}.{key}", tensor
    for key, child in list(attributes.get("_modules", {}).items()):
        if child is not None:
            yield from _of_module(f"{name}.{key}", child, depth)
    for key, value in list(attributes.items()):
        if not key.startswith("_") and type(value) in (list, tuple, dict) and value:
            yield from _tensors_in(f"{name}.{key}", value, depth + 1)
        elif issubclass(type(value), torch.Tensor):
            yield f"{name}.{key}", value


def vars_of(value: Any) -> Mapping[str, Any]:
    """The object's own dictionary, whatever its class does when it is asked."""
    try:
        found: Mapping[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found
