"""Which storages are parameters, gradients, optimizer state, buffers, or under a tensor that a graph made.

Nothing of the user's runs: attributes are read through torch's own types and through plain dictionaries. Callers turn
``__torch_function__`` off (``torch._C.DisableTorchFunction``), since torch's own attributes call it too.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from harness.model.peak import TensorRole

__all__ = ["Found", "is_leaf_parameter", "roles_by_optimizer", "roles_of_all"]

Found = tuple[int, TensorRole]
"""A storage's key, and a role that it has."""

_DEEPEST = 3
_of_base: Mapping[str, Any] = vars(torch._C.TensorBase)
_grad_fn_of, _is_leaf, _requires_grad, _grad_of = (
    _of_base[name].__get__ for name in ("grad_fn", "is_leaf", "requires_grad", "grad")
)


def is_leaf_parameter(tensor: torch.Tensor) -> bool:
    """Whether backward puts a gradient into it: what an operator is given as a parameter is such a leaf."""
    return bool(_requires_grad(tensor) and _is_leaf(tensor))


def roles_of_all(key_of: Callable[[Any], int]) -> Iterator[Found]:
    """The roles of all tensors, modules and optimizers that the collector knows (frozen ones it does not tell)."""
    kinds: dict[type, Callable[[Any, Callable[[Any], int]], Iterator[Found]] | None] = {}
    for candidate in gc.get_objects():
        kind = type(candidate)
        if kind not in kinds:
            kinds[kind] = next((roles for base, roles in _ROLES if issubclass(kind, base)), None)
        roles = kinds[kind]
        if roles is not None:
            yield from roles(candidate, key_of)


def roles_by_optimizer(optimizer: Any, key_of: Callable[[Any], int]) -> Iterator[Found]:
    """Its parameters, their gradients, and its state."""
    attributes = object.__getattribute__(optimizer, "__dict__")
    for group in attributes.get("param_groups", ()):
        for parameter in _tensors_in(group.get("params", ())):
            yield from _keyed(parameter, "parameter", key_of)
            yield from _gradient(parameter, key_of)
    for tensor in _tensors_in(attributes.get("state", {})):
        yield from _keyed(tensor, "optimizer state", key_of)


def _roles_by_module(module: Any, key_of: Callable[[Any], int]) -> Iterator[Found]:
    attributes = object.__getattribute__(module, "__dict__")
    for parameter in _tensors_in(attributes.get("_parameters", {})):
        yield from _keyed(parameter, "parameter", key_of)
    for buffer in _tensors_in(attributes.get("_buffers", {})):
        yield from _keyed(buffer, "buffer", key_of)


def _roles_by_tensor(tensor: torch.Tensor, key_of: Callable[[Any], int]) -> Iterator[Found]:
    if is_leaf_parameter(tensor):
        yield from _keyed(tensor, "parameter", key_of)
        yield from _gradient(tensor, key_of)
    elif _requires_grad(tensor) and _grad_fn_of(tensor) is not None:
        yield from _keyed(tensor, "activation", key_of)


_ROLES: tuple[tuple[type, Callable[[Any, Callable[[Any], int]], Iterator[Found]]], ...] = (
    (torch.Tensor, _roles_by_tensor),
    (torch.nn.Module, _roles_by_module),
    (torch.optim.Optimizer, roles_by_optimizer),
)


def _gradient(leaf: torch.Tensor, key_of: Callable[[Any], int]) -> Iterator[Found]:
    gradient = _grad_of(leaf) if _is_leaf(leaf) else None
    if gradient is not None:
        yield from _keyed(gradient, "gradient", key_of)


def _keyed(tensor: torch.Tensor, role: TensorRole, key_of: Callable[[Any], int]) -> Iterator[Found]:
    try:
        key = key_of(tensor)
    except (RuntimeError, NotImplementedError):
        return  # no storage of its own: sparse, opaque, wrapper
    if key:
        yield key, role


def _tensors_in(values: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors in dictionaries, lists and tuples in one another; anything else is not looked into."""
    kind = type(values)
    if issubclass(kind, torch.Tensor):
        yield values
    elif depth < _DEEPEST and issubclass(kind, dict):
        for value in list(dict.values(values)):
            yield from _tensors_in(value, depth + 1)
    elif depth < _DEEPEST and kind in (list, tuple):
        for value in list(values):
            yield from _tensors_in(value, depth + 1)
