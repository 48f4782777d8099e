"""Handing tensors from scope to scope: all of a pytree, or nothing of it."""

from __future__ import annotations

from typing import Any

import msgspec
from torch.multiprocessing.reductions import StorageWeakRef

from harness.errors import BudgetExceededError, ScopeClosedError, ScopeContextError, UsageError
from harness.ledger.protocol import Ledger
from harness.model.allocation import Frame
from harness.scope.closed_tensor import ClosedTensor, closure_of, refuse
from harness.scope.outliving import OUTLIVING
from harness.scope.record import OPEN, ROOT, Place, Record, place_text, places
from harness.scope.storages import is_foreign, key_of, kind_of_foreign, storages_of, tensors_in
from harness.scope.tree import subtree_bytes
from harness.units import format_bytes

__all__ = ["Foreign", "Move", "adopt", "closed_error", "foreign_of", "keep", "owner_of", "release", "require_open"]

_MOST_MOVES = 256


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """One hand-over, of all the storages of one pytree that had the same owner."""

    source: str
    target: str
    storages: int
    bytes: int
    at: tuple[Frame, ...]


class Foreign:
    """A storage that the ledger does not count: memory that torch did not allocate, or allocated too early."""

    __slots__ = ("bytes", "kind", "reference")

    def __init__(self, storage: Any, kind: str) -> None:
        self.reference = StorageWeakRef(storage)
        self.bytes = storage.nbytes()
        self.kind = kind


def closed_error(record: Record) -> ScopeClosedError:
    """Which scope, closed by whom, where, when."""
    import time

    ago = (time.monotonic_ns() - record.closed_ns) / 1e9
    return ScopeClosedError(
        f"scope {record.path} is closed: by {record.closed_by or 'itself'}, at {place_text(record.closed_at)}, "
        f"{ago:.3g} s ago; it was opened at {place_text(record.opened_at)}"
    )


def require_open(record: Record) -> None:
    if record.state != "open":
        raise closed_error(record)


def foreign_of(record: Record) -> dict[int, Foreign]:
    """The scope's foreign storages that are alive, by their C++ address."""
    table: dict[int, Foreign] = (record.extra or {}).get("foreign", {})
    for key in [k for k, f in list(table.items()) if f.reference.expired()]:
        table.pop(key, None)
    return table


def owner_of(ledger: Ledger, storage: Any) -> Record:
    """The scope that owns a storage; the root where nobody does."""
    number = None if is_foreign(storage) else ledger.scope_of(key_of(storage, ledger))
    if number is None:
        at = storage._cdata
        return next((r for r in list(OPEN.values()) if at in (r.extra or {}).get("foreign", {})), ROOT)
    return OPEN.get(number, ROOT)


def _validated(record: Record, tree: Any, ledger: Ledger) -> list[tuple[Any, Record]]:
    """Storages with their owners, each once; raises before anything was moved."""
    require_open(record)
    tensors = tensors_in(tree)
    if not tensors:
        raise UsageError(
            f"scope {record.path}: there is no tensor in what it was given ({type(tree).__name__})",
            help="Give a tensor, or a list, tuple, dict or other pytree of tensors.",
        )
    found: dict[int, tuple[Any, Record]] = {}
    for tensor in tensors:
        if type(tensor) is ClosedTensor or closure_of(tensor) is not None:
            refuse("hand-over", (tensor,), None)
        for storage in storages_of(tensor):
            owner = owner_of(ledger, storage)
            lent = owner.extra.get("lent", {}) if owner.extra else {}
            if storage._cdata in lent:
                raise ScopeContextError(
                    f"scope {record.path}: a tensor of {format_bytes(storage.nbytes())} is lent to {owner.path} and "
                    "goes back when that loan ends",
                    help="End the loan (leave the with block of borrow) before you hand the tensor on.",
                )
            found[storage._cdata] = (storage, owner)
    return list(found.values())


def _check_room(record: Record, moving: list[tuple[Any, Record]]) -> None:
    if record.cap == "raise" and any(owner is not record for _, owner in moving):
        raise BudgetExceededError(f"scope {record.path} is capped: it takes no new tensors until uncap()")
    at: Record | None = record
    while at is not None:
        if at.budget is not None:
            more = sum(s.nbytes() for s, owner in moving if not owner.is_below(at))
            held = subtree_bytes(at) if more else 0
            if held + more > at.budget and more:
                raise BudgetExceededError(
                    f"scope {at.path}: {format_bytes(more)} more would exceed its budget of "
                    f"{format_bytes(at.budget)} ({format_bytes(held)} in use)"
                )
        at = at.parent


def adopt(record: Record, tree: Any, at: Place) -> None:
    """Move every storage of *tree* to *record*, or raise and move none."""
    with record.lock:
        ledger = record.ledger or record.attach()
        moving = _validated(record, tree, ledger)
        _check_room(record, moving)
        move(record, moving, ledger, at)


def move(record: Record, moving: list[tuple[Any, Record]], ledger: Ledger, at: Place) -> None:
    by_owner: dict[str, list[int]] = {}
    for storage, owner in moving:
        if owner is record:
            continue
        _take_foreign(owner, storage._cdata)
        moved = not is_foreign(storage) and ledger.move_to_scope(key_of(storage, ledger), record.number)
        if not moved and record is not ROOT:
            table = record.more().setdefault("foreign", {})
            table[storage._cdata] = Foreign(storage, kind_of_foreign(storage))
        by_owner.setdefault(owner.path, []).append(storage.nbytes())
    if record is ROOT:
        return
    log: list[Move] = record.more().setdefault("moves", [])
    for source, sizes in by_owner.items():
        log.append(Move(source=source, target=record.path, storages=len(sizes), bytes=sum(sizes), at=places(at)[:1]))
    del log[:-_MOST_MOVES]


def _take_foreign(owner: Record, key: int) -> None:
    if owner.extra is not None:
        owner.extra.get("foreign", {}).pop(key, None)


def keep(record: Record, tree: Any, at: Place) -> None:
    """Move what *record*, or a scope below it, owns of *tree* to its parent; what others own stays where it is."""
    parent = record.parent
    if parent is None or parent is ROOT:
        release(record, tree, at, only_own=True)
        return
    with record.lock:
        ledger = record.ledger or record.attach()
        moving = [(s, owner) for s, owner in _validated(record, tree, ledger) if owner.is_below(record)]
        require_open(parent)
        with parent.lock:
            _check_room(parent, moving)
            move(parent, moving, ledger, at)


def release(record: Record, tree: Any, at: Place, *, only_own: bool = False) -> None:
    """Let nobody own what *tree* holds; it stays listed until it dies."""
    with record.lock:
        ledger = record.ledger or record.attach()
        moving = _validated(record, tree, ledger)
        if only_own:
            moving = [(s, owner) for s, owner in moving if owner.is_below(record)]
        move(ROOT, moving, ledger, at)
        for storage, _ in moving:
            OUTLIVING.release(storage, record.path, at)
