"""The role of every storage at a step's peak, from what was born and died, what operators read, and what was seen.

The evidence, the strongest first:

1. What somebody found a storage to be while it was alive: a parameter, a ``.grad``, in an optimizer's state, in a
   module's buffers, under a tensor with a ``grad_fn``.
2. Born while an operator of backward ran: ``backward temporary``; of an optimizer's step: ``other``.
3. Born while an operator of the forward pass ran (any that is in neither of these): ``other`` if it read gradients or
   optimizer state (clipping, an update by hand); ``activation`` if it read a parameter, a buffer or an activation, or
   if what it computed never meets one; ``input`` if it does (a batch that is normalised first).
4. Born without an operator that reads tensors, or before the step: ``input`` if one of the forward pass reads it.
5. Else ``other``.

What it does not promise: what an operator writes into memory that was there is not followed; an operator of a thread
other than the watched one is not known of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from harness.ledger.peak import History, highest_moment
from harness.model.peak import TENSOR_ROLES, TensorRole

__all__ = ["Operation", "Phase", "RolePart", "Sighting", "compose"]

Phase = Literal["forward", "backward", "optimizer"]
_COMPUTES: frozenset[TensorRole] = frozenset({"parameter", "buffer", "activation"})
_UPDATES: frozenset[TensorRole] = frozenset({"gradient", "optimizer state", "backward temporary"})


class Operation(msgspec.Struct, frozen=True, array_like=True):
    """An operator that allocated: the numbers of its first event and of the first one after it, and the keys of the
    storages that it was given."""

    first: int
    end: int
    phase: Phase
    read: tuple[int, ...]


class Sighting(msgspec.Struct, frozen=True, array_like=True):
    """What the storage under *key* was found to be when so many events had been counted."""

    at: int
    key: int
    role: TensorRole


class RolePart(msgspec.Struct, frozen=True, kw_only=True):
    """The storages of one role and one site."""

    role: TensorRole
    site: int
    bytes: int
    storages: int


class _Storage:
    """One storage from birth to death: an address is used again, and is then another one."""

    __slots__ = ("bytes", "is_read", "meets_model", "phase", "role", "seen", "site", "sources")

    def __init__(self, bytes_: int, site: int, phase: Phase | None = None, sources: tuple[_Storage, ...] = ()) -> None:
        self.bytes = bytes_
        self.site = site
        self.phase = phase
        self.sources = sources
        self.seen: TensorRole | None = None
        self.role: TensorRole = "other"
        self.is_read = False
        self.meets_model = False


def compose(
    history: History, operations: Sequence[Operation], sightings: Iterable[Sighting], *, thread: int
) -> tuple[RolePart, ...]:
    """What was alive at the peak of *history*, by role and site, the largest first. *operations* are those of *thread*,
    in order."""
    everything, present = _replayed(history, operations, sightings, thread)
    _judge(everything)
    groups: dict[tuple[TensorRole, int], list[int]] = {}
    for storage in present:
        groups.setdefault((storage.role, storage.site), []).append(storage.bytes)
    parts = (
        RolePart(role=role, site=site, bytes=sum(sizes), storages=len(sizes)) for (role, site), sizes in groups.items()
    )
    return tuple(sorted(parts, key=lambda part: (-part.bytes, TENSOR_ROLES.index(part.role), part.site)))


def _replayed(
    history: History, operations: Sequence[Operation], sightings: Iterable[Sighting], thread: int
) -> tuple[list[_Storage], list[_Storage]]:
    """Every storage there was, the oldest first, with what is known of each; and those alive at the peak."""
    living = _at_the_beginning(history)
    everything = list(living.values())
    peak_at = highest_moment(bytes_ for _, bytes_, _, _ in history.events)
    present = everything[:] if peak_at == 0 else []
    following = _Following(operations, sightings)
    for number, (key, bytes_, site, born_in) in enumerate(history.events, start=history.first):
        operation, sources = following.at(number, living)
        if bytes_ < 0:
            living.pop(key, None)
        elif operation is not None and born_in == thread:
            living[key] = _Storage(bytes_, site, operation.phase, sources)
            everything.append(living[key])
        else:
            living[key] = _Storage(bytes_, site)
            everything.append(living[key])
        if number + 1 - history.first == peak_at:
            present = list(living.values())
    following.at(history.first + len(history.events), living)
    return everything, present


def _at_the_beginning(history: History) -> dict[int, _Storage]:
    living = {key: _Storage(bytes_, site) for key, bytes_, site in history.alive}
    for key, bytes_, site, _ in reversed(history.events):
        if bytes_ > 0:
            living.pop(key, None)
        else:
            living[key] = _Storage(-bytes_, site)
    return living


class _Following:
    """What lies at an event: the operation that it is part of, and the sightings before it, each booked once."""

    def __init__(self, operations: Sequence[Operation], sightings: Iterable[Sighting]) -> None:
        self._operations = operations
        self._sightings = sorted(sightings, key=lambda sighting: sighting.at)
        self._next_operation = self._next_sighting = 0
        self._current: Operation | None = None
        self._sources: tuple[_Storage, ...] = ()

    def at(self, number: int, living: dict[int, _Storage]) -> tuple[Operation | None, tuple[_Storage, ...]]:
        """To be asked with rising numbers, before the event of that number changes what is *living*."""
        self._book_sightings(number, living)
        if self._current is not None and number >= self._current.end:
            self._current = None
        while self._next_operation < len(self._operations):
            operation = self._operations[self._next_operation]
            if operation.first > number:
                break
            self._next_operation += 1
            self._begin(operation, living)
        return self._current, self._sources

    def _begin(self, operation: Operation, living: dict[int, _Storage]) -> None:
        self._current = operation
        self._sources = ()
        if operation.phase == "forward":
            self._sources = tuple(living[key] for key in dict.fromkeys(operation.read) if key in living)
            for storage in self._sources:
                storage.is_read = True

    def _book_sightings(self, number: int, living: dict[int, _Storage]) -> None:
        while self._next_sighting < len(self._sightings) and self._sightings[self._next_sighting].at <= number:
            sighting = self._sightings[self._next_sighting]
            self._next_sighting += 1
            storage = living.get(sighting.key)
            if storage is None:
                continue
            if storage.seen is None or TENSOR_ROLES.index(sighting.role) < TENSOR_ROLES.index(storage.seen):
                storage.seen = sighting.role


def _judge(everything: Sequence[_Storage]) -> None:
    """Give each its role: sources are older than what was computed from them."""
    for storage in everything:
        storage.role = storage.seen or _role_by_birth(storage)
    for storage in reversed(everything):
        if storage.phase == "forward" and (storage.meets_model or storage.role == "activation"):
            for source in storage.sources:
                source.meets_model = True
    for storage in everything:
        if storage.seen is None and _is_computed(storage) and storage.role == "input" and not storage.meets_model:
            storage.role = "activation"


def _role_by_birth(storage: _Storage) -> TensorRole:
    if storage.phase == "backward":
        return "backward temporary"
    if storage.phase == "optimizer":
        return "other"
    roles = {source.role for source in storage.sources}
    if roles & _UPDATES:
        return "other"
    if roles & _COMPUTES:
        return "activation"
    return "input" if storage.is_read or _is_computed(storage) else "other"


def _is_computed(storage: _Storage) -> bool:
    return bool(storage.sources)
