"""Which open resource scopes own the survivors of each site. Asked at checkpoints; costs nothing without scopes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from harness.ledger.protocol import Ledger, Mark, Survivor
from harness.model.allocation import ScopeOwner

__all__ = ["scope_owners"]

_LATER_THAN_ALL = 2**31 - 1


def scope_owners(ledger: Ledger) -> dict[int, tuple[ScopeOwner, ...]]:
    """By site, the open scopes other than the root, those of one name together."""
    if "harness.scope.record" not in sys.modules:
        return {}
    from harness.scope.record import OPEN, places

    groups: dict[tuple[int, str], list[Survivor]] = {}
    everything = Mark(number=_LATER_THAN_ALL, allocations=0, peak_bytes={})
    records = dict(OPEN)
    for survivor in ledger.survivors(everything):
        record = records.get(survivor.scope)
        if record is not None and record.number:
            groups.setdefault((survivor.site, record.stem), []).append(survivor)
    owners: dict[int, tuple[ScopeOwner, ...]] = {}
    for (site, stem), survivors in groups.items():
        numbers = sorted({s.scope for s in survivors})
        held = _held_by(records[n] for n in numbers)
        owner = ScopeOwner(
            name=stem,
            opened_at=places(records[numbers[0]].opened_at),
            scopes=len(numbers),
            storages=len(survivors),
            bytes=sum(s.bytes for s in survivors),
            held=sum(1 for s in survivors if s.key in held),
            abandoned=sum(1 for n in numbers if records[n].abandoned),
        )
        owners[site] = (*owners.get(site, ()), owner)
    return owners


def _held_by(records: Iterable[Any]) -> set[int]:
    from harness.scope.owned import held_keys

    return {key for record in records for key in held_keys(record)}
