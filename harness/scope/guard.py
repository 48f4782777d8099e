"""What is checked at each operator while a scope is capped, or has a budget and devices are in use."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from harness.errors import BudgetExceededError
from harness.ledger.modes import leave_mode
from harness.ledger.sites import SiteTable
from harness.model.allocation import Frame
from harness.scope.context import current_record
from harness.scope.devices import DEVICES
from harness.scope.record import Record
from harness.scope.tree import subtree_bytes
from harness.units import format_bytes

__all__ = ["Guard", "Offender", "guard", "unguard"]


class Offender(msgspec.Struct, frozen=True, kw_only=True):
    """A line that allocated while its scope was capped: how often, and how many bytes in all."""

    operator: str
    frames: tuple[Frame, ...]
    count: int
    bytes: int


class Guard(TorchDispatchMode):
    """Sees each operator of this thread while the scope is current."""

    def __init__(self, record: Record) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.record = record
        self._table = SiteTable(depth=8)
        self._rows: dict[int, int] = {}
        self._before = {d: DEVICES[0].allocated(d) for d in DEVICES[0].in_use()} if record.budget is not None else {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        record = self.record
        capped = record.cap is not None and current_record() is record
        known = _storages((args, kwargs)) if capped else {}
        out = func(*args, **(kwargs or {}))
        refused = self._capped(func, known, out) if capped else None
        refused = refused or (self._over_budget() if record.budget is not None else None)
        if refused is not None:
            out = None  # the traceback keeps this frame, and the frame would keep what was refused
            raise refused
        return out

    def _capped(self, func: Any, known: dict[int, int], out: Any) -> BudgetExceededError | None:
        fresh = {key: size for key, size in _storages(out).items() if key not in known}
        if not fresh:
            return None
        record = self.record
        size = sum(fresh.values())
        if record.cap == "raise":
            return BudgetExceededError(
                f"scope {record.path} is capped: {func} would allocate {format_bytes(size)} in it",
                help="Allocate in a child scope, or uncap() first.",
            )
        site = self._table.number_of(func._schema.name, sys._getframe(2))
        operator, frames = self._table.frames(site)
        row = self._rows.setdefault(site, len(record.offenders))
        if row == len(record.offenders):
            record.offenders.append(Offender(operator=operator, frames=frames, count=0, bytes=0))
        seen: Offender = record.offenders[row]
        record.offenders[row] = msgspec.structs.replace(seen, count=seen.count + 1, bytes=seen.bytes + size)
        return None

    def _over_budget(self) -> BudgetExceededError | None:
        record = self.record
        assert record.budget is not None
        devices = {d: DEVICES[0].allocated(d) - self._before.get(d, 0) for d in DEVICES[0].in_use()}
        if not devices or record.ledger is None:
            return None
        booked = 0 if record.ledger.source == "dispatch" else subtree_bytes(record)
        held = sum(max(0, size) for size in devices.values()) + booked
        if held <= record.budget:
            return None
        shares = ", ".join(f"{format_bytes(size)} on {d}" for d, size in devices.items() if size > 0)
        error = BudgetExceededError(
            f"scope {record.path}: {format_bytes(held)} are in use, over its budget of {format_bytes(record.budget)} "
            f"({shares})"
        )
        record.more().setdefault("refused", error)
        return error


def _storages(tree: Any) -> dict[int, int]:
    """Storages of the tensors in *tree*, with their bytes."""
    found: dict[int, int] = {}
    for leaf in tree_iter(tree):
        if isinstance(leaf, torch.Tensor):
            try:
                storage = leaf.untyped_storage()
                found[storage._cdata] = storage.nbytes()
            except (NotImplementedError, RuntimeError):
                continue
    return found


def guard(record: Record) -> None:
    """Begin to check, in this thread."""
    extra = record.more()
    if "guard" not in extra:
        made = Guard(record)
        made.__enter__()  # type: ignore[no-untyped-call]
        extra["guard"] = made


def unguard(record: Record) -> None:
    """Stop checking."""
    made = (record.extra or {}).pop("guard", None)
    if made is not None:
        leave_mode(made)
