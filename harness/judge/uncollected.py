"""What the garbage collector's absence shows: the subject that was left to itself, against the settled ones."""

from __future__ import annotations

from dataclasses import dataclass

from harness.judge.assessment import Assessment, Evidence
from harness.judge.growth import Movement
from harness.judge.policy import Policy
from harness.judge.witnesses import Claim
from harness.judge.wording import grew, title
from harness.model.recording import SubjectRecord
from harness.model.series import Series
from harness.model.verdict import LookAlike
from harness.units import format_bytes

__all__ = ["FALLING_METRICS", "fell_back", "late_collection"]

FALLING_METRICS = ("heap.used", "python.bytes", "rss.anon")
"""Where garbage shows, the most telling first."""


@dataclass(frozen=True, kw_only=True)
class _Fall:
    metric: str
    bytes: int
    step: int


def late_collection(evidence: Evidence, policy: Policy) -> Claim | LookAlike | None:
    """A claim where nothing will ever free the garbage, a look-alike where the collector does or did."""
    alone = evidence.uncollected
    if alone is None or not alone.sound or _settled_grow(evidence):
        return None
    fall = largest_fall(alone.subject, policy)
    growing = _growing(alone)
    if growing is not None and fall is None:
        if _never_collected(alone):
            why = "the collector is off" if not alone.subject.collector_enabled else "its objects are frozen"
            sites = alone.growing_sites[:1]
            return Claim(
                movement=growing,
                site=sites[0].site if sites else None,
                site_movement=sites[0].leading if sites else None,
                reasons=(
                    f"{grew(growing)} where nobody collects, and {why}",
                    "where a collection runs after each step, nothing grows: cycles hold it",
                ),
                in_uncollected=True,
            )
        return LookAlike(
            look_alike="late_collection",
            bytes=int(growing.rise),
            evidence=f"{title(growing.metric)} grew by {format_bytes(growing.rise)} while the collector did not run in "
            f"{growing.span:,} steps; a collection after each step frees all of it",
        )
    if fall is None:
        return None
    return LookAlike(
        look_alike="late_collection",
        bytes=fall.bytes,
        evidence=f"left alone, {title(fall.metric)} fell by {format_bytes(fall.bytes)} in step {fall.step} when the "
        "collector ran; with a collection after each step it stays flat",
    )


def _settled_grow(evidence: Evidence) -> bool:
    main = evidence.plain or evidence.ledger
    return main is None or not main.sound or main.grows("heap.used") or main.grows("python.bytes")


def _growing(alone: Assessment) -> Movement | None:
    return next((alone.movements[m] for m in ("heap.used", "python.bytes") if alone.grows(m)), None)


def _never_collected(alone: Assessment) -> bool:
    return not alone.subject.collector_enabled or alone.subject.frozen_growth > 0


def fell_back(alone: Assessment, policy: Policy) -> bool:
    """Whether the collector was seen at work: garbage that had piled up went away."""
    return largest_fall(alone.subject, policy) is not None


def largest_fall(subject: SubjectRecord, policy: Policy) -> _Fall | None:
    """The first of the telling metrics that fell, and where it fell most; None where nothing piled up and went away."""
    for metric in FALLING_METRICS:
        series = subject.find(metric)
        fall = _fall_of(series.since(subject.warmup_steps - 1), policy) if series is not None else None
        if fall is not None:
            return fall
    return None


def _fall_of(series: Series, policy: Policy) -> _Fall | None:
    """The largest drop from one reading to the next, where it takes back half of what had piled up."""
    drops = [(a - b, step) for a, b, step in zip(series.values, series.values[1:], series.steps[1:], strict=False)]
    if not drops:
        return None
    size, step = max(drops)
    spread = max(series.values) - min(series.values)
    if size < policy.worth_telling_bytes or size < 0.5 * spread:
        return None
    return _Fall(metric=series.metric, bytes=int(size), step=step)
