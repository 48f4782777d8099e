"""What judgement says of one recording, before anybody asks why."""

from __future__ import annotations

from typing import Literal

import msgspec

from harness.model.allocation import SiteRecord
from harness.model.recording import FaultRecord
from harness.model.series import Growth

__all__ = ["LookAlike", "Outcome", "Suspect", "Verdict"]

Outcome = Literal["leak", "stable", "inconclusive", "fault", "failed"]


class LookAlike(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why growing memory is not a leak: its class (DESIGN's spelling), the bytes it explains, the evidence."""

    look_alike: str = msgspec.field(name="class")
    bytes: int
    evidence: str


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """One channel that grew: the metric, its growth, and, for tensors, the site that keeps them.

    ``in_uncollected`` is true where it grew only in the subject that left the collector to itself."""

    metric: str
    growth: Growth
    site: SiteRecord | None = None
    site_growth: Growth | None = None
    in_uncollected: bool = False


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome with its reasons (sentences with numbers, for and against), and the facts behind it.

    ``final`` is False where more steps could still change the outcome: the runner then goes on if it may.
    """

    outcome: Outcome
    final: bool
    reasons: tuple[str, ...]
    warmup_steps: int
    growth: dict[str, Growth]
    suspects: tuple[Suspect, ...] = ()
    look_alikes: tuple[LookAlike, ...] = ()
    faults: tuple[FaultRecord, ...] = ()
    notes: tuple[str, ...] = ()
