"""Which scope each storage belongs to, for the dispatch ledger: bytes a scope, budgets, and refusals."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from harness.ledger.protocol import Refusal
from harness.units import format_bytes

__all__ = ["ScopeBook"]


class _Scope:
    """One scope's figures. ``bytes`` are its own by device; ``total`` is its own and its children's together."""

    __slots__ = ("budget", "bytes", "keys", "name", "number", "parent", "peak", "refusal", "total")

    def __init__(self, number: int, parent: _Scope | None, name: str, budget: int | None) -> None:
        self.number, self.parent, self.name, self.budget = number, parent, name, budget
        self.keys: set[int] = set()
        self.bytes: dict[str, int] = {}
        self.total = 0
        self.peak = 0
        self.refusal: Refusal | None = None


class _Slot(threading.local):
    number = 0


class ScopeBook:
    """Scope 0 is the root and is always there. A storage born in a scope that was forgotten belongs to the root.

    Not locked: its ledger calls it under the ledger's own lock, but for :meth:`enter`, which touches its thread only.
    """

    def __init__(self) -> None:
        self._scopes: dict[int, _Scope] = {0: _Scope(0, None, "root", None)}
        self._owner: dict[int, int] = {}
        self._slot = _Slot()

    def define(self, number: int, parent: int, name: str, budget: int | None) -> None:
        self._scopes[number] = _Scope(number, self._scopes.get(parent) or self._scopes[0], name, budget)

    def enter(self, number: int) -> int:
        """Set this thread's slot; returns what was in it."""
        previous, self._slot.number = self._slot.number, number
        return previous

    def forget(self, number: int) -> None:
        """Drop the scope; what is still alive in it becomes its parent's."""
        scope = self._scopes.get(number)
        if scope is None or scope.parent is None:
            return
        del self._scopes[number]
        heir = scope.parent
        while heir.number not in self._scopes and heir.parent is not None:
            heir = heir.parent
        for key in scope.keys:
            self._owner[key] = heir.number
        heir.keys |= scope.keys
        for device, size in scope.bytes.items():
            heir.bytes[device] = heir.bytes.get(device, 0) + size

    def born(self, key: int, device: str, size: int, older: bool) -> Refusal | None:
        """Enter a new storage under this thread's scope, an *older* one under the root; the refusal of the innermost
        budget that it exceeds."""
        number = 0 if older else self._slot.number
        scope = self._scopes.get(number)
        if scope is None:
            number, scope = 0, self._scopes[0]
        self._owner[key] = number
        scope.keys.add(key)
        return self._grow(scope, device, size)

    def resized(self, key: int, device: str, difference: int) -> Refusal | None:
        return self._grow(self._scopes[self._owner[key]], device, difference)

    def died(self, key: int, device: str, size: int) -> None:
        scope = self._scopes[self._owner.pop(key)]
        scope.keys.discard(key)
        self._grow(scope, device, -size)

    def move(self, key: int, device: str, size: int, number: int) -> bool:
        target = self._scopes.get(number)
        if target is None or key not in self._owner:
            return False
        self.died(key, device, size)
        self._owner[key] = number
        target.keys.add(key)
        self._grow(target, device, size, may_refuse=False)
        return True

    def owner(self, key: int) -> int | None:
        return self._owner.get(key)

    def keys(self, number: int) -> Iterable[int]:
        scope = self._scopes.get(number)
        return scope.keys if scope is not None else ()

    def bytes(self, number: int) -> dict[str, int]:
        """Live bytes by device, the scope's own."""
        scope = self._scopes.get(number)
        return {d: b for d, b in scope.bytes.items() if b} if scope is not None else {}

    def peak(self, number: int) -> int:
        """The highest that the scope's and its children's bytes were together."""
        scope = self._scopes.get(number)
        return scope.peak if scope is not None else 0

    def refusal(self, number: int) -> Refusal | None:
        scope = self._scopes.get(number)
        return scope.refusal if scope is not None else None

    @staticmethod
    def _grow(scope: _Scope, device: str, size: int, *, may_refuse: bool = True) -> Refusal | None:
        scope.bytes[device] = scope.bytes.get(device, 0) + size
        refused: Refusal | None = None
        at: _Scope | None = scope
        while at is not None:
            at.total += size
            if at.budget is not None and at.total > at.budget and may_refuse and size > 0 and refused is None:
                refused = Refusal(
                    bytes=size,
                    sentence=(
                        f"scope {at.name}: {format_bytes(size)} more on {device} exceed its budget of "
                        f"{format_bytes(at.budget)}; {format_bytes(at.total - size)} are alive in it"
                    ),
                )
                at.refusal = at.refusal or refused
            elif at.total > at.peak:
                at.peak = at.total
            at = at.parent
        return refused
