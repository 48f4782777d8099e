"""Reads what a scope is and owns now."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from harness.ledger import current
from harness.ledger.protocol import Ledger, Survivor
from harness.scope.devices import allocator_bytes
from harness.scope.outliving import OUTLIVING
from harness.scope.ownership import foreign_of
from harness.scope.quarantine import QUARANTINE
from harness.scope.record import ROOT, Record, places
from harness.scope.roles import ROLES
from harness.scope.scope_dump import ScopeDump, SiteShare
from harness.scope.storages import tensors_by_key
from harness.scope.tree import open_scopes, subtree_bytes

__all__ = ["dump"]

_TOP_SITES = 10


def dump(record: Record) -> ScopeDump:
    """The scope as data. Never raises: what cannot be read is named in ``problem``."""
    try:
        return _dump(record, whole=True)
    except Exception as error:
        return ScopeDump(
            path=record.path, name=record.name, state=record.state, problem=f"{type(error).__name__}: {error}"
        )


def _dump(record: Record, *, whole: bool) -> ScopeDump:
    ledger = record.ledger if record is not ROOT else current.running()
    survivors = list(ledger.survivors_in_scope(record.number)) if ledger is not None else []
    foreign_storages = foreign_of(record)
    if ledger is not None and ledger.source == "dispatch":  # it does not notice that a storage of its own was shared
        survivors = [s for s in survivors if s.key not in foreign_storages]
    by_device: dict[str, int] = {}
    for s in survivors:
        by_device[s.device] = by_device.get(s.device, 0) + s.bytes
    objects, dtypes, roles = _seen(survivors, ledger)
    tree = subtree_bytes(record)
    extra = record.extra or {}
    use = ledger.scope_use(record.number) if ledger is not None else None
    foreign: dict[str, int] = {}
    for one in foreign_storages.values():
        foreign[one.kind] = foreign.get(one.kind, 0) + one.bytes
    return ScopeDump(
        path=record.path,
        name=record.name,
        state=record.state,
        opened_at=places(record.opened_at),
        closed_at=places(record.closed_at),
        closed_by=record.closed_by,
        age_s=(time.monotonic_ns() - record.opened_ns) / 1e9,
        objects=objects,
        storages=len(survivors),
        bytes=by_device,
        dtypes=dtypes,
        roles=roles,
        tree_bytes=tree,
        peak_bytes=use.peak_bytes if use is not None else None,
        budget_bytes=record.budget,
        remaining_bytes=max(0, record.budget - tree) if record.budget is not None else None,
        foreign=foreign,
        top_sites=_top_sites(survivors, ledger),
        children=tuple(_dump(child, whole=False) for child in list(record.children.values())),
        closables=sum(1 for m in list(record.members.values()) if not isinstance(m, Record)),
        held=tuple(extra.get("held", ())),
        moves=tuple(extra.get("moves", ())),
        offenders=tuple(record.offenders),
        **(_process_wide(record) if whole else {}),
    )


def _process_wide(record: Record) -> dict[str, Any]:
    return {
        "escapes": OUTLIVING.escapes(record.stem),
        "released": OUTLIVING.released(),
        "open_scopes": open_scopes() if record is ROOT else (),
        "orphaned_state": ROLES.orphans(),
        "quarantined": len(QUARANTINE),
        "quarantined_bytes": QUARANTINE.bytes,
        "allocator_bytes": allocator_bytes(),
    }


def _seen(survivors: list[Survivor], ledger: Ledger | None) -> tuple[int, dict[str, int], dict[str, int]]:
    """Python tensors on the storages; their bytes by number type and by role."""
    if not survivors or ledger is None:
        return 0, {}, {}
    tensors = tensors_by_key([s.key for s in survivors], ledger)
    dtypes: dict[str, int] = {}
    roles: dict[str, int] = {}
    named = ROLES.by_identity()
    for s in survivors:
        on_it = tensors.get(s.key, ())
        dtype = str(on_it[0].dtype).removeprefix("torch.") if on_it else "unknown"
        dtypes[dtype] = dtypes.get(dtype, 0) + s.bytes
        role = next((named[id(t)] for t in on_it if id(t) in named), "other" if on_it else "unseen")
        roles[role] = roles.get(role, 0) + s.bytes
    return sum(len(ts) for ts in tensors.values()), dtypes, roles


def _top_sites(survivors: Iterable[Survivor], ledger: Ledger | None) -> tuple[SiteShare, ...]:
    if ledger is None:
        return ()
    groups: dict[int, list[int]] = {}
    for s in survivors:
        groups.setdefault(s.site, []).append(s.bytes)
    largest = sorted(groups.items(), key=lambda group: -sum(group[1]))[:_TOP_SITES]
    shares = []
    for site, sizes in largest:
        operator, frames = ledger.frames(site)
        shares.append(SiteShare(operator=operator, frames=frames, storages=len(sizes), bytes=sum(sizes)))
    return tuple(shares)
