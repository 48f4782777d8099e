"""Watches single steps for what is alive at their peak; costs nothing in the others."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from harness.capture.tensor_roles import Found, is_leaf_parameter, roles_by_optimizer, roles_of_all
from harness.ledger.composition import Operation, Phase, RolePart, Sighting, compose
from harness.ledger.native_ledger import NativeLedger
from harness.ledger.protocol import Mark
from harness.model.peak import PeakComposition, PeakPart, TensorRole

__all__ = ["PeakWatch", "as_composition"]

_MOST_OPERATIONS = 65_536
"""Operators kept of one step, some 200 bytes each: as many as the ledger's ring has room for, at two events each."""

_MOST_PARTS = 8


class PeakWatch:
    """Between :meth:`begin` and :meth:`end` of a step: which operators of this thread allocated, and in which phase;
    what each optimizer steps with; at both ends, what all tensors are. *ledger* must keep events."""

    def __init__(self, ledger: NativeLedger) -> None:
        self.is_watching = False
        self._ledger = ledger
        self._step = 0
        self._thread = threading.get_native_id()
        self._in_optimizers = 0
        self._operations: list[Operation] = []
        self._sightings: list[Sighting] = []
        self._handles: list[Any] = []

    def start(self) -> None:
        """Register the global optimizer hooks. They do nothing while no step is watched."""
        self._handles = [
            register_optimizer_step_pre_hook(self._before_update),
            register_optimizer_step_post_hook(self._after_update),
        ]

    def stop(self) -> None:
        """Remove every hook that was set."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def begin(self, step: int) -> None:
        """Watch *step*, which is about to run in this thread."""
        self._step, self._thread, self._in_optimizers = step, threading.get_native_id(), 0
        self._operations, self._sightings = [], []
        self._note(roles_of_all(self._ledger.key_of))
        self.is_watching = True

    def end(self, mark: Mark) -> PeakComposition | None:
        """The composition of the peak of the step that began at *mark*. None where it cannot be told: more events than
        the ledger's ring holds, or allocations in other threads that came in another order than they were counted."""
        if not self.is_watching:
            return None
        self._note(roles_of_all(self._ledger.key_of))
        self.is_watching = False
        operations, sightings = self._operations, self._sightings
        self._operations, self._sightings = [], []
        history = self._ledger.history(mark)
        if history is None or len(operations) >= _MOST_OPERATIONS:
            return None
        return as_composition(
            compose(history, operations, sightings, thread=self._thread),
            step=self._step,
            peak_bytes=sum(self._ledger.peak_bytes(mark).values()),
            frames=lambda site: self._ledger.frames(site)[1],
        )

    def ran(self, first_event: int, arguments: Sequence[Any]) -> None:
        """An operator has run that was given *arguments*; the ledger had counted *first_event* events before."""
        end = self._ledger.events_so_far()
        if end == first_event or len(self._operations) >= _MOST_OPERATIONS:
            return
        if threading.get_native_id() != self._thread:
            return
        phase = self._phase()
        read: list[int] = []
        with torch._C.DisableTorchFunction():
            for tensor in _tensors_among(arguments) if phase == "forward" else ():
                try:
                    key = self._ledger.key_of(tensor)
                except (RuntimeError, NotImplementedError):
                    continue  # no storage of its own: sparse, opaque, wrapper
                read.append(key)
                if is_leaf_parameter(tensor):
                    self._sightings.append(Sighting(end, key, "parameter"))
        self._operations.append(Operation(first_event, end, phase, tuple(read)))

    def _phase(self) -> Phase:
        """Recomputation in backward and a closure in an optimizer's step turn gradients on: both are forward."""
        if torch.is_grad_enabled():
            return "forward"
        if torch._C._current_graph_task_id() != -1:
            return "backward"
        return "optimizer" if self._in_optimizers > 0 else "forward"

    def _before_update(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._at_update(optimizer, 1)

    def _after_update(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._at_update(optimizer, -1)

    def _at_update(self, optimizer: Any, change: int) -> None:
        if not self.is_watching:
            return
        if threading.get_native_id() == self._thread:
            self._in_optimizers += change
        with contextlib.suppress(Exception):  # an optimizer that is not built like torch's must not fail because of us
            self._note(roles_by_optimizer(optimizer, self._ledger.key_of))

    def _note(self, found: Iterable[Found]) -> None:
        at = self._ledger.events_so_far()
        with torch._C.DisableTorchFunction():  # a subclass's own code, or a mode's, would run at each attribute
            roles = set(found)
        self._sightings.extend(Sighting(at, key, role) for key, role in roles)


def as_composition(
    parts: Sequence[RolePart], *, step: int, peak_bytes: int, frames: Callable[[int], tuple[Any, ...]]
) -> PeakComposition | None:
    """*parts*, the largest first, as told in a recording. What is missing to the exact *peak_bytes* is "other"; None
    where there is too much, since then the replay is not what happened."""
    missing = peak_bytes - sum(part.bytes for part in parts)
    if missing < 0:
        return None
    by_role: dict[TensorRole, int] = {}
    for role, bytes_ in (*((part.role, part.bytes) for part in parts), ("other", missing)):
        if bytes_:
            by_role[role] = by_role.get(role, 0) + bytes_
    return PeakComposition(
        step=step,
        bytes=peak_bytes,
        by_role=dict(sorted(by_role.items(), key=lambda item: -item[1])),
        parts=tuple(
            PeakPart(role=part.role, bytes=part.bytes, storages=part.storages, allocated_at=frames(part.site))
            for part in parts[:_MOST_PARTS]
        ),
    )


def _tensors_among(arguments: Sequence[Any]) -> Iterator[torch.Tensor]:
    for argument in arguments:
        for value in argument if type(argument) in (list, tuple) else (argument,):
            if issubclass(type(value), torch.Tensor):
                yield value
