"""What was alive at the highest moment, from what is alive now and what happened since: replayed backwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

__all__ = ["Event", "History", "PeakPart", "at_the_peak", "highest_moment"]

_Stored = tuple[int, int, int]
"""Key, bytes, site; in an event, bytes are negative for a death."""

Event = tuple[int, int, int, int]
"""Key, bytes (negative: a death), site, and the thread in which the storage was born."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """*alive* (key, bytes, site) and all *events* up to that moment, oldest first. ``first`` is the first one's number
    among all that the ledger counts."""

    first: int
    events: tuple[Event, ...]
    alive: tuple[_Stored, ...]


class PeakPart(msgspec.Struct, frozen=True, kw_only=True):
    """One site's share of a peak. ``still_alive`` are the keys of those storages of it that live on."""

    site: int
    storages: int
    bytes: int
    still_alive: tuple[int, ...]


def highest_moment(changes: Iterable[int]) -> int:
    """How many of the *changes* (signed bytes) lie before the highest moment: the first of equal ones counts, and the
    moment before the first change is one of them."""
    total = highest = peak_at = 0
    for number, bytes_ in enumerate(changes, start=1):
        total += bytes_
        if total > highest:
            highest, peak_at = total, number
    return peak_at


def at_the_peak(alive: Sequence[_Stored], events: Sequence[_Stored]) -> tuple[PeakPart, ...]:
    """*alive* now and *events* up to now, oldest first; the largest part first."""
    peak_at = highest_moment(bytes_ for _, bytes_, _ in events)
    present = {key: (bytes_, site, True) for key, bytes_, site in alive}
    for key, bytes_, site in reversed(events[peak_at:]):
        if bytes_ > 0:
            present.pop(key, None)
        else:
            present[key] = (-bytes_, site, False)
    by_site: dict[int, list[tuple[int, int, bool]]] = {}
    for key, (bytes_, site, lives) in present.items():
        by_site.setdefault(site, []).append((key, bytes_, lives))
    parts = (
        PeakPart(
            site=site,
            storages=len(stored),
            bytes=sum(bytes_ for _, bytes_, _ in stored),
            still_alive=tuple(key for key, _, lives in stored if lives),
        )
        for site, stored in by_site.items()
    )
    return tuple(sorted(parts, key=lambda part: (-part.bytes, part.site)))
