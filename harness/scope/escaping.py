"""What is still alive when its scope ends: who holds it, who owns it from then on, and how it is told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType

from harness.errors import EscapedTensorsError
from harness.ledger.protocol import Ledger, Survivor
from harness.scope.holders import holders_of
from harness.scope.outliving import OUTLIVING, Escape
from harness.scope.record import Record
from harness.units import format_number_of

__all__ = ["escaped"]

_HOLDERS_LOOKED_FOR = 3


def escaped(
    record: Record, ledger: Ledger, survivors: Sequence[Survivor], error: BaseException | None
) -> list[BaseException]:
    """Hand *survivors* to the nearest open scope outside, and tell of them: in the list of escapes, and as an error
    where the scope is to raise and does not end with one already."""
    assert record.parent is not None
    heir = record.parent.nearest_open()
    by_site: dict[int, list[Survivor]] = {}
    for survivor in survivors:
        by_site.setdefault(survivor.site, []).append(survivor)
    look = [s.key for site, group in by_site.items() for s in group if _is_new(record, site)]
    held = holders_of(look, ledger, frame=_users_frame()) if look else {}
    for survivor in survivors:
        ledger.move_to_scope(survivor.key, heir.number)
    told = [_escape(record, heir, ledger, site, group, held) for site, group in by_site.items()]
    for (site, _), escape in zip(by_site.items(), told, strict=True):
        OUTLIVING.escaped(record.stem, site, escape)
    if record.on_escape != "raise" or error is not None:
        return []
    return [EscapedTensorsError(_sentence(record, told))]


def _is_new(record: Record, site: int) -> bool:
    return OUTLIVING.times_escaped(record.stem, site) < _HOLDERS_LOOKED_FOR


def _escape(
    record: Record,
    heir: Record,
    ledger: Ledger,
    site: int,
    group: list[Survivor],
    held: dict[int, tuple[str, ...]],
) -> Escape:
    operator, frames = ledger.frames(site)
    return Escape(
        scope=record.path,
        now_in=heir.path,
        operator=operator,
        frames=frames,
        device=group[0].device,
        storages=len(group),
        bytes=sum(s.bytes for s in group),
        held_by=tuple(dict.fromkeys(words for s in group for words in held.get(s.key, ())))[:4],
    )


def _sentence(record: Record, told: list[Escape]) -> str:
    more = f"; and {len(told) - 8} more sites" if len(told) > 8 else ""
    alive = sum(escape.storages for escape in told)
    total = format_number_of(alive, "storage") + (" is" if alive == 1 else " are")
    listed = "; ".join(escape.what() for escape in told[:8])
    return f"scope {record.path}: {total} alive at its end: {listed}{more}"


def _users_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("harness.scope"):
        frame = frame.f_back
    return frame
