"""What is born in a scope and belongs elsewhere by its role: gradients, optimizer state, buffers.

A gradient belongs to its parameter's scope, an optimizer's state to its optimizer's (that of its first parameter), a
buffer to its module's (that of the module's parameters, else of its other buffers). They are handed over when the scope
ends, without counting as escapes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import register_optimizer_step_post_hook

from harness.ledger.protocol import Ledger
from harness.scope.closed_tensor import ClosedTensor
from harness.scope.record import OPEN, Record
from harness.scope.storages import key_of, objects_of, storages_of

__all__ = ["ROLES", "OrphanedState", "Roles"]

_LOOKS_A_SITE = 3


class OrphanedState(msgspec.Struct, frozen=True, kw_only=True):
    """Optimizer state that is alive although its optimizer is not."""

    optimizer: str
    storages: int
    bytes: int


class Roles:
    """The optimizers, modules and leaf tensors that were seen, all weakly."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._modules: weakref.WeakSet[Any] = weakref.WeakSet()
        self._leaves: dict[int, weakref.ref[torch.Tensor]] = {}
        self._looked: dict[tuple[str, int], int] = {}
        self._state: dict[str, list[tuple[Any, int, Any]]] = {}
        register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if optimizer not in self._optimizers:
            with self._lock:
                self._optimizers.add(optimizer)

    def hand_over(self, record: Record, ledger: Ledger) -> None:
        """Move those survivors of *record* that have a role elsewhere to where they belong."""
        survivors = ledger.survivors_in_scope(record.number)
        if not survivors:
            return
        with self._lock:
            self._known(record, ledger, {s.key for s in survivors})
            left = ledger.survivors_in_scope(record.number)
            new = [s for s in left if self._looked.get((record.stem, s.site), 0) < _LOOKS_A_SITE]
            if new and self._look():
                self._known(record, ledger, {s.key for s in left})
            for s in {(record.stem, s.site) for s in new}:
                self._looked[s] = self._looked.get(s, 0) + 1
            if len(self._looked) > 4096:
                self._looked.clear()

    def _known(self, record: Record, ledger: Ledger, keys: set[int]) -> None:
        for tensor, home in self._pairs(ledger, record.number):
            if home == record.number or not keys:
                continue
            for storage in storages_of(tensor):
                key = key_of(storage, ledger)
                if key in keys:
                    keys.discard(key)
                    ledger.move_to_scope(key, home if home in OPEN else 0)

    def _pairs(self, ledger: Ledger, number: int) -> Iterator[tuple[torch.Tensor, int]]:
        for leaf in self._living_leaves():
            if leaf.grad is not None:
                yield leaf.grad, _home(leaf, ledger)
        for optimizer in list(self._optimizers):
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            home = _home(parameters[0], ledger) if parameters else 0
            for parameter in parameters:
                if parameter.grad is not None:
                    yield parameter.grad, _home(parameter, ledger)
            for tensor in _tensors_of(optimizer.state.values()):
                self._note_state(optimizer, tensor, ledger, number)
                yield tensor, home
        for module in list(self._modules):
            if module._buffers:
                home = _module_home(module, ledger, number)
                yield from ((b, home) for b in module._buffers.values() if isinstance(b, torch.Tensor))

    def by_identity(self) -> dict[int, str]:
        """The role of each tensor object that has one and is known."""
        with self._lock:
            self._look()
            roles = {id(leaf): "parameter" for leaf in self._living_leaves()}
            roles |= {id(leaf.grad): "gradient" for leaf in self._living_leaves() if leaf.grad is not None}
            for optimizer in list(self._optimizers):
                roles |= {id(t): "optimizer state" for t in _tensors_of(optimizer.state.values())}
            for module in list(self._modules):
                roles |= {id(b): "buffer" for b in module._buffers.values() if b is not None}
            return roles

    def _living_leaves(self) -> Iterator[torch.Tensor]:
        for identity, reference in list(self._leaves.items()):
            leaf = reference()
            if leaf is None or type(leaf) is ClosedTensor:
                self._leaves.pop(identity, None)
            else:
                yield leaf

    def _look(self) -> bool:
        """Look among all objects for leaves with a gradient, optimizers and modules that are not known yet."""
        before = len(self._leaves) + len(self._optimizers) + len(self._modules)
        for candidate in objects_of(torch.Tensor, torch.nn.Module, torch.optim.Optimizer):
            if isinstance(candidate, torch.Tensor):
                if candidate.is_leaf and candidate.requires_grad:
                    self._leaves[id(candidate)] = weakref.ref(candidate)
            elif isinstance(candidate, torch.nn.Module):
                if candidate.__dict__.get("_buffers"):
                    self._modules.add(candidate)
            else:
                self._optimizers.add(candidate)
        return len(self._leaves) + len(self._optimizers) + len(self._modules) > before

    def _note_state(self, optimizer: Any, tensor: torch.Tensor, ledger: Ledger, number: int) -> None:
        for storage in storages_of(tensor):
            if ledger.scope_of(key_of(storage, ledger)) == number:
                name = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
                known = self._state.setdefault(name, [])
                known.append((weakref.ref(optimizer), storage.nbytes(), StorageWeakRef(storage)))
                if len(known) > 256 and len(known) & (len(known) - 1) == 0:
                    self._state[name] = [k for k in known if not k[2].expired()]

    def orphans(self) -> tuple[OrphanedState, ...]:
        """State whose optimizer is gone."""
        with self._lock:
            found = []
            for name, known in self._state.items():
                self._state[name] = alive = [k for k in known if not k[2].expired()]
                lost = [size for optimizer, size, _ in alive if optimizer() is None]
                if lost:
                    found.append(OrphanedState(optimizer=name, storages=len(lost), bytes=sum(lost)))
            return tuple(found)


def _home(tensor: torch.Tensor, ledger: Ledger) -> int:
    return next((ledger.scope_of(key_of(s, ledger)) or 0 for s in storages_of(tensor)), 0)


def _module_home(module: Any, ledger: Ledger, number: int) -> int:
    """Where the module's parameters are; a module without any: where a buffer is that was not born just now, else the
    parent of the scope in which all of them were."""
    for tensor in (*module._parameters.values(), *module._buffers.values()):
        if isinstance(tensor, torch.Tensor):
            home = _home(tensor, ledger)
            if home != number:
                return home
    return number


def _tensors_of(states: Iterable[Any]) -> Iterator[torch.Tensor]:
    for state in states:
        values = state.values() if isinstance(state, dict) else (state,)
        for value in values:
            if isinstance(value, torch.Tensor):
                yield value


ROLES = Roles()
"""The process's own."""
