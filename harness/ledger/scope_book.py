"""Who owns how much, for a ledger that keeps its books in Python: the dispatch ledger's half of scopes."""

from __future__ import annotations

import threading
from typing import Any

from harness.errors import UsageError
from harness.ledger.protocol import Live, ScopeUse
from harness.units import format_bytes

__all__ = ["Presence", "ScopeBook"]


class Presence:
    """The number of the scope that one thread is in, and the mode that follows it (True: the first of the ledger)."""

    __slots__ = ("followed", "number")

    def __init__(self) -> None:
        self.number = 0
        self.followed: Any = None


class _Here(threading.local):
    def __init__(self) -> None:
        self.presence = Presence()


class _Scope:
    __slots__ = ("budget", "bytes", "name", "parent", "refusals", "storages", "tree_bytes", "tree_peak")

    def __init__(self, name: str, parent: _Scope | None, budget: int | None) -> None:
        self.name = name
        self.parent = parent
        self.budget = budget
        self.storages = 0
        self.bytes: dict[str, int] = {}
        self.tree_bytes = 0
        self.tree_peak = 0
        self.refusals = 0


class ScopeBook:
    """Numbers as in :class:`harness.ledger.protocol.Ledger`. A forgotten scope's figures go on living with its parents:
    what is alive in it still counts against their budgets."""

    def __init__(self) -> None:
        self._open: dict[int, _Scope] = {0: _Scope("root", None, None)}
        self._forgotten: dict[int, _Scope] = {}
        self._here = _Here()

    def define(self, number: int, parent: int, *, name: str, budget_bytes: int | None) -> None:
        if number in self._open:
            raise UsageError(f"scope {number} is defined already", help="Every scope takes a number of its own.")
        self._open[number] = _Scope(name, self._scope(parent), budget_bytes)

    def enter(self, number: int, presence: Presence) -> int:
        if number not in self._open:
            self._scope(number)  # which raises
        before, presence.number = presence.number, number
        return before

    def forget(self, number: int) -> None:
        if number == 0:
            raise UsageError("the root scope cannot be forgotten", help="It ends with the ledger.")
        scope = self._scope(number)
        del self._open[number]
        if scope.storages:
            self._forgotten[number] = scope

    def presence(self) -> Presence:
        """Where this thread is, now and later."""
        return self._here.presence

    def here(self, origin: Presence) -> int:
        """The scope that this thread is in; where it is in none, the one that *origin* is in."""
        number = self._here.presence.number or origin.number
        return number if number in self._open else 0

    def live(self, number: int) -> Live:
        scope = self._scope(number)
        return Live(storages=scope.storages, bytes={device: n for device, n in scope.bytes.items() if n})

    def use(self, number: int) -> ScopeUse | None:
        scope = self._scope(number)
        if scope.budget is None:
            return None
        return ScopeUse(
            budget_bytes=scope.budget,
            used_bytes=scope.tree_bytes,
            peak_bytes=scope.tree_peak,
            refusals=scope.refusals,
        )

    def charge(self, number: int, device: str, size: int, *, storages: int) -> str | None:
        """Book it. The sentence of the innermost budget that is exceeded by it, if one is."""
        scope: _Scope | None = self._open.get(number) or self._forgotten[number]
        assert scope is not None
        scope.storages += storages
        scope.bytes[device] = scope.bytes.get(device, 0) + size
        if not scope.storages:
            self._forgotten.pop(number, None)
        exceeded = None
        while scope is not None:
            scope.tree_bytes += size
            scope.tree_peak = max(scope.tree_peak, scope.tree_bytes)
            if size > 0 and scope.budget is not None and scope.tree_bytes > scope.budget and exceeded is None:
                scope.refusals += 1
                exceeded = (
                    f"scope {scope.name}: {format_bytes(size)} more would exceed its budget of "
                    f"{format_bytes(scope.budget)} ({format_bytes(scope.tree_bytes - size)} in use)"
                )
            scope = scope.parent
        return exceeded

    def check(self, number: int) -> None:
        """:class:`UsageError` if there is no such scope (any more)."""
        self._scope(number)

    def _scope(self, number: int) -> _Scope:
        scope = self._open.get(number)
        if scope is None:
            raise UsageError(f"scope {number} is not defined, or is forgotten", help="Define it before it is used.")
        return scope
