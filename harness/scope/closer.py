"""Closing tensors: one that the user names, or all that a scope owns."""

from __future__ import annotations

from typing import Any

import torch

from harness.errors import UsageError
from harness.ledger.protocol import Ledger
from harness.scope.closed_tensor import ClosedTensor, Closure
from harness.scope.holders import cpp_owners
from harness.scope.quarantine import QUARANTINE
from harness.scope.record import OPEN, Place, Record, place_text
from harness.scope.storages import key_of, storages_of, tensors_by_key

__all__ = ["close_survivors", "close_tensor"]


def close_tensor(record: Record, tensor: Any, at: Place) -> Closure:
    """Close one tensor object. What else is on its storage (views, numpy arrays, graphs) stays as it is, and keeps the
    memory: the answer says so in ``held_by``. Closing twice is no error."""
    if type(tensor) is ClosedTensor:
        closure: Closure = tensor.__dict__["_harness_closure"]
        return closure
    if not isinstance(tensor, torch.Tensor):
        raise UsageError(
            f"scope {record.path}: close_tensor was given a {type(tensor).__name__}", help="Give one tensor."
        )
    ledger = record.ledger or record.attach()
    closure = _closure(record, tensor, ledger, place_text(at))
    QUARANTINE.close(tensor, closure)
    return closure


def close_survivors(record: Record, ledger: Ledger) -> None:
    """Close every Python tensor on what the scope owns. What C++ holds besides is not freed under it."""
    survivors = ledger.survivors_in_scope(record.number)
    if not survivors:
        return
    sites = {s.key: s.site for s in survivors}
    found = tensors_by_key(sites, ledger)
    where = place_text(record.closed_at)
    while found:
        key, tensors = found.popitem()
        created = _site_text(ledger, sites[key])
        while tensors:
            tensor = tensors.pop()
            QUARANTINE.close(tensor, _described(record, tensor, created, where, None))


def _closure(record: Record, tensor: torch.Tensor, ledger: Ledger, where: str) -> Closure:
    created = "an unknown place"
    for storage in storages_of(tensor):
        key = key_of(storage, ledger)
        owner = OPEN.get(ledger.scope_of(key) or 0, record)
        site = next((s.site for s in ledger.survivors_in_scope(owner.number) if s.key == key), None)
        if site is not None:
            created = _site_text(ledger, site)
    return _described(record, tensor, created, where, cpp_owners(tensor))


def _described(record: Record, tensor: torch.Tensor, created: str, where: str, held: str | None) -> Closure:
    with torch._C.DisableTorchFunctionSubclass():
        return Closure(
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype),
            device=str(tensor.device),
            bytes=sum(s.nbytes() for s in storages_of(tensor)),
            created_at=created,
            closed_at=where,
            closed_by=record.path,
            held_by=held,
        )


def _site_text(ledger: Ledger, site: int) -> str:
    operator, frames = ledger.frames(site)
    return f"{frames[0].path}:{frames[0].line} in {frames[0].function}" if frames else operator
