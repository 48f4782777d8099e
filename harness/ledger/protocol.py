"""What a ledger answers, whatever it gets its facts from."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from harness.model.allocation import Frame

__all__ = ["Ledger", "Live", "Mark", "ScopeUse", "SiteState", "Survivor"]


class Mark(msgspec.Struct, weakref=True, eq=False):
    """A moment in the ledger's life. ``number`` counts marks from 0; ``allocations`` is the count up to it.

    ``peak_bytes`` is the ledger's own scratch: ask :meth:`Ledger.peak_bytes`.
    """

    number: int
    allocations: int
    peak_bytes: dict[str, int]


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """Live storages: how many, and their bytes by device."""

    storages: int
    bytes: dict[str, int]

    @property
    def total_bytes(self) -> int:
        """Bytes over all devices."""
        return sum(self.bytes.values())


class Survivor(msgspec.Struct, frozen=True, kw_only=True):
    """One storage that is still alive.

    ``birth`` is the number of the mark after which it was allocated (-1: before the first); ``key`` is what the ledger
    knows it by, which is also ``ledger.key_of(tensor)`` of every tensor on it; ``scope`` owns it (0: the root)."""

    bytes: int
    device: str
    birth: int
    site: int
    key: int
    scope: int


class SiteState(msgspec.Struct, frozen=True, array_like=True):
    """What one site keeps alive now. ``oldest_birth`` is None when nothing is."""

    site: int
    storages: int
    bytes: int
    oldest_birth: int | None


class ScopeUse(msgspec.Struct, frozen=True, kw_only=True):
    """A budget, and the live bytes of the scope and all below it: now, and at most so far. ``refusals`` counts the
    allocations that this budget refused."""

    budget_bytes: int
    used_bytes: int
    peak_bytes: int
    refusals: int = 0


class Ledger(Protocol):
    """Every live tensor storage that the source can see. Storages are counted once, however many tensors view them.

    ``source`` is "native" or "dispatch"; ``blind_to`` says in a sentence what this source cannot see.
    """

    source: str
    blind_to: str

    @property
    def dropped(self) -> int:
        """How many storages no longer found room in the bounded table (0: nothing is missing)."""

    def mark(self) -> Mark:
        """Begin a new interval: births and peaks are told relative to marks."""

    def live(self, since: Mark | None = None) -> Live:
        """What is alive now; with *since*, only what was allocated after that mark."""

    def survivors(self, mark: Mark) -> Sequence[Survivor]:
        """The storages allocated before *mark* that are alive now."""

    def peak_bytes(self, mark: Mark) -> dict[str, int]:
        """The highest live bytes by device since *mark* (each device's own highest)."""

    def allocations(self, mark: Mark) -> int:
        """How many storages were allocated since *mark*."""

    def changed_sites(self) -> Sequence[SiteState]:
        """The sites whose survivors differ from what the last call told."""

    def frames(self, site: int) -> tuple[str, tuple[Frame, ...]]:
        """The operator and the user's frames of *site*, innermost first."""

    def device_of(self, site: int) -> str:
        """The device of the site's live storages (of one of them, where a line allocates on several)."""

    def key_of(self, tensor: Any) -> int:
        """What the ledger knows the tensor's storage by: its data address (native), its C++ address (dispatch).

        Raises what torch raises for a tensor that has no storage of its own."""

    def storage_keys(self) -> dict[int, int]:
        """Live storages by key, oldest first, with their sites."""

    def define_scope(self, number: int, parent: int, *, name: str, budget_bytes: int | None = None) -> None:
        """Make scope *number* (never used before, not 0) below *parent* known, so that it can own storages.

        *budget_bytes* limits the live bytes of the scope and of all below it: an allocation that would exceed a budget
        raises RuntimeError with a sentence that calls the innermost such scope by its *name*."""

    def enter_scope(self, number: int) -> int:
        """What this thread allocates from here on belongs to scope *number* (0: the root); the one before is told."""

    def forget_scope(self, number: int) -> None:
        """Close it: what is alive in it goes on counting against the budgets above, and new storages of a thread that
        is still in it go to the root."""

    def live_in_scope(self, number: int) -> Live:
        """What the scope itself owns now, without those below it. Costs the same however much that is."""

    def scope_use(self, number: int) -> ScopeUse | None:
        """How far its budget is used, by it and all below it; None for a scope without one."""

    def survivors_in_scope(self, number: int) -> Sequence[Survivor]:
        """The storages that the scope itself owns now, oldest first."""

    def scope_of(self, key: int) -> int | None:
        """The scope that the storage under *key* belongs to; None if there is none under it."""

    def move_to_scope(self, key: int, number: int) -> bool:
        """Give a storage to another scope; False if there is none under *key*. A move is counted and never refused."""

    def stop(self) -> None:
        """Stop recording and put back what was there. Stopping twice is no error."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
