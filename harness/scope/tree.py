"""All scopes that are open, as a tree of records; and what the process says at its end."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from collections.abc import Iterator

import msgspec

from harness.ledger import current
from harness.model.allocation import Frame
from harness.scope.record import ROOT, Record, place_text, places
from harness.units import format_bytes, format_number_of

__all__ = ["OpenScope", "abandon", "every_open", "open_scopes", "subtree_bytes"]


class OpenScope(msgspec.Struct, frozen=True, kw_only=True):
    """A scope that is open: its path, where it was opened, and what it owns. ``abandoned``: nobody refers to it."""

    path: str
    name: str
    number: int
    opened_at: tuple[Frame, ...]
    abandoned: bool
    storages: int
    bytes: int


def every_open(at: Record = ROOT) -> Iterator[Record]:
    """The open records below *at*, parents first."""
    for child in list(at.children.values()):
        yield child
        yield from every_open(child)


def subtree_bytes(record: Record) -> int:
    """Live bytes of a scope and of all below it."""
    if record is ROOT:
        ledger = current.running()
        return ledger.live().total_bytes if ledger is not None else 0
    return sum(
        r.ledger.live_in_scope(r.number).total_bytes for r in (record, *every_open(record)) if r.ledger is not None
    )


def open_scopes() -> tuple[OpenScope, ...]:
    """Every scope that is open now, with where it was opened."""
    found = []
    for record in every_open():
        live = record.ledger.live_in_scope(record.number) if record.ledger is not None else None
        found.append(
            OpenScope(
                path=record.path,
                name=record.stem,
                number=record.number,
                opened_at=places(record.opened_at),
                abandoned=record.abandoned,
                storages=live.storages if live else 0,
                bytes=live.total_bytes if live else 0,
            )
        )
    return tuple(found)


def abandon(record: Record) -> None:
    """The last reference to an open scope is gone: its record stays, with what it owns, and a warning says so."""
    record.abandoned = True
    warnings.warn(
        f"scope {record.path} was never closed (scope_not_closed); it was opened at {place_text(record.opened_at)}",
        ResourceWarning,
        stacklevel=2,
    )


_OWN_PROCESS = os.getpid()


def _at_exit() -> None:
    if os.getpid() != _OWN_PROCESS:
        return  # a fork inherited the list, not the scopes
    left = open_scopes()
    if not left or sys.stderr is None:
        return
    print(f"scope_not_closed: {format_number_of(len(left), 'scope')} still open at exit", file=sys.stderr)
    for scope in left[:32]:
        frame = scope.opened_at[0] if scope.opened_at else None
        where = f"{frame.path}:{frame.line} in {frame.function}" if frame else "an unknown place"
        print(
            f"  {scope.path}, opened at {where}, owns {format_number_of(scope.storages, 'storage')}, "
            f"{format_bytes(scope.bytes)}",
            file=sys.stderr,
        )
    if len(left) > 32:
        print(f"  and {len(left) - 32} more", file=sys.stderr)


atexit.register(_at_exit)
