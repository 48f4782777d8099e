"""What a scope is and owns at a moment, as frozen data; and what changed between two moments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from harness.model.allocation import Frame
from harness.scope.outliving import Escape, Released
from harness.scope.ownership import Move
from harness.scope.roles import OrphanedState
from harness.scope.tree import OpenScope
from harness.units import format_bytes

__all__ = ["ScopeDiff", "ScopeDump", "SiteShare", "diff"]


class SiteShare(msgspec.Struct, frozen=True, kw_only=True):
    """What one site has alive in a scope."""

    operator: str
    frames: tuple[Frame, ...]
    storages: int
    bytes: int


class ScopeDump(msgspec.Struct, frozen=True, kw_only=True):
    """A scope now. Its own storages, its children's not among them; ``tree_bytes`` is with
    them, and so is ``peak_bytes``, which is counted where there is a budget.

    ``objects`` counts Python tensor objects, ``storages`` what they lie on, each once; ``bytes`` by device is what the
    storages hold, ``allocator_bytes`` what the allocators of devices that are in use hold for the process. ``roles``
    and ``dtypes`` split the bytes that a Python tensor can be seen on. ``held`` are closables that were not closed
    because something uses their memory. ``problem`` says what could not be read."""

    path: str
    name: str
    state: str
    opened_at: tuple[Frame, ...] = ()
    closed_at: tuple[Frame, ...] = ()
    closed_by: str | None = None
    age_s: float = 0.0
    objects: int = 0
    storages: int = 0
    bytes: dict[str, int] = {}
    dtypes: dict[str, int] = {}
    roles: dict[str, int] = {}
    tree_bytes: int = 0
    peak_bytes: int | None = None
    budget_bytes: int | None = None
    remaining_bytes: int | None = None
    allocator_bytes: dict[str, dict[str, int]] = {}
    foreign: dict[str, int] = {}
    top_sites: tuple[SiteShare, ...] = ()
    children: tuple[ScopeDump, ...] = ()
    closables: int = 0
    held: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    offenders: tuple[Any, ...] = ()
    escapes: tuple[Escape, ...] = ()
    released: tuple[Released, ...] = ()
    open_scopes: tuple[OpenScope, ...] = ()
    orphaned_state: tuple[OrphanedState, ...] = ()
    quarantined: int = 0
    quarantined_bytes: int = 0
    problem: str | None = None

    def __str__(self) -> str:
        lines = list(_lines(self, ""))
        return "\n".join(lines)


class ScopeDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What *after* has more than *before* (less: negative)."""

    path: str
    seconds: float
    objects: int
    storages: int
    bytes: dict[str, int]
    tree_bytes: int
    grown_sites: tuple[SiteShare, ...]
    new_children: tuple[str, ...]
    gone_children: tuple[str, ...]


def diff(before: ScopeDump, after: ScopeDump) -> ScopeDiff:
    """What changed from one dump to a later one. Never raises."""
    old = {(s.operator, s.frames[:1]): s for s in before.top_sites}
    grown = []
    for site in after.top_sites:
        known = old.get((site.operator, site.frames[:1]))
        if known is None or site.bytes > known.bytes:
            grown.append(
                msgspec.structs.replace(
                    site,
                    storages=site.storages - (known.storages if known else 0),
                    bytes=site.bytes - (known.bytes if known else 0),
                )
            )
    devices = before.bytes.keys() | after.bytes.keys()
    was, now = {c.path for c in before.children}, {c.path for c in after.children}
    return ScopeDiff(
        path=after.path,
        seconds=after.age_s - before.age_s,
        objects=after.objects - before.objects,
        storages=after.storages - before.storages,
        bytes={d: after.bytes.get(d, 0) - before.bytes.get(d, 0) for d in sorted(devices)},
        tree_bytes=after.tree_bytes - before.tree_bytes,
        grown_sites=tuple(grown),
        new_children=tuple(sorted(now - was)),
        gone_children=tuple(sorted(was - now)),
    )


def _lines(at: ScopeDump, indent: str) -> Iterable[str]:
    limit = f" of {format_bytes(at.budget_bytes)}" if at.budget_bytes is not None else ""
    where = f", opened at {at.opened_at[0].path}:{at.opened_at[0].line}" if at.opened_at else ""
    yield (
        f"{indent}{at.path} ({at.state}{where}): {format_bytes(at.tree_bytes)}{limit} in all, own "
        f"{format_bytes(sum(at.bytes.values()))} in {at.storages} storages, {at.objects} tensors"
    )
    for child in at.children:
        yield from _lines(child, indent + "  ")
