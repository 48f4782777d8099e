"""What was alive at the highest moment, from what is alive now and what happened since: replayed backwards."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

__all__ = ["PeakPart", "at_the_peak"]

_Stored = tuple[int, int, int]
"""Key, bytes, site; in an event, bytes are negative for a death."""


class PeakPart(msgspec.Struct, frozen=True, kw_only=True):
    """One site's share of a peak. ``still_alive`` are the keys of those storages of it that live on."""

    site: int
    storages: int
    bytes: int
    still_alive: tuple[int, ...]


def at_the_peak(alive: Sequence[_Stored], events: Sequence[_Stored]) -> tuple[PeakPart, ...]:
    """*alive* now and *events* up to now, oldest first; the largest part first. The first of equal peaks counts, and
    the moment before the first event is one of the moments."""
    total = highest = peak_at = 0
    for number, (_, bytes_, _) in enumerate(events, start=1):
        total += bytes_
        if total > highest:
            highest, peak_at = total, number
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
