"""What outlived its scope: what was released on purpose, and what escaped."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
from torch.multiprocessing.reductions import StorageWeakRef

from harness.model.allocation import Frame
from harness.scope.record import Place, places
from harness.units import format_bytes, format_number_of

__all__ = ["OUTLIVING", "Escape", "Outliving", "Released"]

_MOST = 1024


class Escape(msgspec.Struct, frozen=True, kw_only=True):
    """Storages of one site that were alive at the end of their scope, over all scopes of that name.

    ``scope`` is the last such scope's path, ``now_in`` the scope that they belong to since; ``held_by`` what holds
    them, as far as it was looked for (the first few times at each site)."""

    scope: str
    now_in: str
    operator: str
    frames: tuple[Frame, ...]
    device: str
    storages: int
    bytes: int
    held_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.scope}: {self.what()}; owned by {self.now_in} since"

    def what(self) -> str:
        """How much of what, from where, held by whom, in words."""
        frame = self.frames[0] if self.frames else None
        where = f"{frame.path}:{frame.line} in {frame.function}" if frame else self.operator
        held = f", held by {'; '.join(self.held_by)}" if self.held_by else ""
        return f"{format_number_of(self.storages, 'storage')} ({format_bytes(self.bytes)}) from {where}{held}"


class Released(msgspec.Struct, frozen=True, kw_only=True):
    """A storage that was taken from its scope and is alive: nobody closes it."""

    bytes: int
    released_by: str
    released_at: tuple[Frame, ...]


class Outliving:
    """Both lists, bounded: the oldest entries go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._escapes: dict[tuple[str, int], Escape] = {}
        self._released: list[tuple[Any, int, str, Place]] = []

    def escaped(self, stem: str, site: int, escape: Escape) -> None:
        """Add to what is known of *site* in scopes of the name *stem*."""
        with self._lock:
            known = self._escapes.pop((stem, site), None)
            if known is not None:
                escape = msgspec.structs.replace(
                    escape,
                    storages=escape.storages + known.storages,
                    bytes=escape.bytes + known.bytes,
                    held_by=escape.held_by or known.held_by,
                )
            elif len(self._escapes) >= _MOST:
                del self._escapes[next(iter(self._escapes))]
            self._escapes[stem, site] = escape

    def escapes(self, below: str = "") -> tuple[Escape, ...]:
        """The escapes, of scopes whose path begins with *below*."""
        with self._lock:
            return tuple(e for (stem, _), e in self._escapes.items() if stem.startswith(below))

    def times_escaped(self, stem: str, site: int) -> int:
        known = self._escapes.get((stem, site))
        return known.storages if known is not None else 0

    def release(self, storage: Any, path: str, at: Place) -> None:
        with self._lock:
            self._released = [r for r in self._released if not r[0].expired()][-_MOST + 1 :]
            self._released.append((StorageWeakRef(storage), storage.nbytes(), path, at))

    def released(self) -> tuple[Released, ...]:
        """What was released and is alive."""
        with self._lock:
            alive = [r for r in self._released if not r[0].expired()]
            self._released = alive
        return tuple(Released(bytes=size, released_by=path, released_at=places(at)) for _, size, path, at in alive)

    def clear(self) -> None:
        """Forget all (for tests)."""
        with self._lock:
            self._escapes.clear()
            self._released.clear()


OUTLIVING = Outliving()
"""The process's own."""
