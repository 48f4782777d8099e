"""What a ledger answers, whatever it gets its facts from."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from harness.model.allocation import Frame

__all__ = ["Ledger", "Live", "Mark", "Refusal", "SiteState", "Survivor"]


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

    ``birth`` is the number of the mark after which it was allocated (-1: before the first). ``key`` names it to the
    ledger (see :meth:`Ledger.key_of`) for as long as it lives; ``scope`` is the number of the scope that it belongs to.
    """

    bytes: int
    device: str
    birth: int
    site: int
    key: int = 0
    scope: int = 0


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An allocation that a scope's budget did not allow: how many bytes, and the sentence that torch raised."""

    bytes: int
    sentence: str


class SiteState(msgspec.Struct, frozen=True, array_like=True):
    """What one site keeps alive now. ``oldest_birth`` is None when nothing is."""

    site: int
    storages: int
    bytes: int
    oldest_birth: int | None


class Ledger(Protocol):
    """Every live tensor storage that the source can see. Storages are counted once, however many tensors view them.

    ``source`` is "native" or "dispatch"; ``blind_to`` says in a sentence what this source cannot see;
    ``dropped`` counts storages that no longer found room in the bounded table (0: nothing is missing).
    """

    source: str
    blind_to: str
    dropped: int

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

    def define_scope(self, number: int, parent: int, *, name: str, budget_bytes: int | None = None) -> None:
        """Make a scope known. Scope 0 is the root; a budget bounds the live bytes of the scope and its children."""

    def enter_scope(self, number: int) -> int:
        """Let what this thread allocates from now on belong to scope *number*; the number that was there before."""

    def forget_scope(self, number: int) -> None:
        """Drop the scope; what is still alive in it, and what is born into it later, is its nearest parent's."""

    def live_in_scope(self, number: int) -> Live:
        """What is alive now and belongs to the scope itself, its children's not among it."""

    def survivors_in_scope(self, number: int) -> Sequence[Survivor]:
        """The storages that :meth:`live_in_scope` counts."""

    def move_to_scope(self, key: int, number: int) -> bool:
        """Let a living storage belong to scope *number*; False where the ledger does not know it."""

    def key_of(self, storage: Any) -> int:
        """What names this storage (``tensor.untyped_storage()``) to the ledger."""

    def scope_of(self, key: int) -> int | None:
        """The scope that the storage belongs to; None where the ledger does not know it."""

    def peak_in_scope(self, number: int) -> int:
        """The highest that the live bytes of the scope and its children were together."""

    def refusal_in_scope(self, number: int) -> Refusal | None:
        """The first allocation that the scope's own budget refused."""

    def stop(self) -> None:
        """Stop recording and put back what was there. Stopping twice is no error."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
