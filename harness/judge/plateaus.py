"""Look-alikes that rise and stay: caches that fill, single allocations, start-up; and peaks that come back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.judge.assessment import Assessment, Evidence
from harness.judge.growth import Movement, movement_of_series
from harness.judge.policy import Policy
from harness.judge.wording import stopped, title
from harness.model.series import Series
from harness.model.verdict import LookAlike
from harness.stats.noise import local_noise
from harness.stats.windows import Numbers, peaks_rising
from harness.units import format_bytes

__all__ = ["bounded_cache", "one_time_allocation", "periodic_peak", "shape_cache", "warm_up"]

_FILLING = ("leak.bytes", "heap.used", "python.bytes", "device.allocated")
"""Exact tensor bytes first: what they explain need not be explained again."""


def bounded_cache(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """Grew over several steps, then stopped: a buffer that is full, a cache that knows everything."""
    filled = _filled(evidence, policy)
    if filled is None:
        return None
    return LookAlike(
        look_alike="bounded_cache",
        bytes=int(filled.rise),
        evidence=stopped(filled) + _same_input(evidence, filled, policy),
    )


def shape_cache(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """A cache that filled ever more slowly: keys came at random, as sizes do, and new ones became rare."""
    filled = _filled(evidence, policy)
    if filled is None or filled.last_rise is None or filled.rises < 2 * policy.least_rises:
        return None
    for assessment in _readers(evidence, filled.metric):
        series = _from_warmup(assessment, filled.metric)
        if series is None:
            continue
        x, y = np.array(series.steps), np.array(series.values)
        middle = (filled.start + filled.last_rise) / 2
        first, at_middle = float(y[0]), float(y[x <= middle].max())
        share = (float(y.max()) - at_middle) / max(at_middle - first, 1.0)
        if share > policy.random_fill_share:
            return None
        return LookAlike(
            look_alike="shape_cache",
            bytes=int(filled.rise),
            evidence=f"{title(filled.metric)} filled ever more slowly (the second half of the fill brought "
            f"{share:.0%} of the first) and stopped at step {filled.last_rise}{_same_input(evidence, filled, policy)}",
        )
    return None


def _same_input(evidence: Evidence, filled: Movement, policy: Policy) -> str:
    """What the experiment showed in which every step had the same input; nothing where it did not stop the growth."""
    repeated = evidence.repeated
    moved = repeated.find(filled.metric) if repeated is not None and repeated.sound else None
    if moved is None or moved.growth.trend != "flat" or moved.rise > policy.repeated_share * filled.rise:
        return ""
    return "; with the same input in every step nothing grew"


def one_time_allocation(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """One rise, in a single step, that stays."""
    for metric in _FILLING:
        for assessment in _readers(evidence, metric):
            series = _from_warmup(assessment, metric)
            jump = _single_jump(series, policy) if series is not None else None
            if jump is not None:
                step, size = jump
                return LookAlike(
                    look_alike="one_time_allocation",
                    bytes=int(size),
                    evidence=f"{title(metric)} rose once, by {format_bytes(size)} in step {step}, and neither before "
                    "nor after",
                )
    return None


def warm_up(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """What was allocated before the program settled, and no more of it since."""
    for metric in ("heap.used", "leak.bytes", "rss.anon"):
        for assessment in _readers(evidence, metric):
            if assessment.grows(metric):
                continue
            series = assessment.subject.find(metric)
            if series is None or not series.steps:
                continue
            settled = series.since(assessment.warmup_steps - 1)
            rise = settled.values[0] - series.values[0] if settled.values else 0
            if rise >= policy.worth_telling_rss_bytes:
                return LookAlike(
                    look_alike="warm_up",
                    bytes=int(rise),
                    evidence=f"{title(metric)} rose by {format_bytes(rise)} in the first "
                    f"{assessment.warmup_steps} steps, before the program had settled",
                )
    return None


def periodic_peak(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """Rises that come back at even distances and are given back each time."""
    for metric in ("heap.used", "leak.bytes", "peak.tensors", "rss.anon"):
        for assessment in _readers(evidence, metric):
            series = _from_warmup(assessment, metric)
            found = _peaks(series, policy) if series is not None else None
            if found is not None:
                count, period, height = found
                return LookAlike(
                    look_alike="periodic_peak",
                    bytes=int(height),
                    evidence=f"{title(metric)} peaks by {format_bytes(height)} every {period:.0f} steps, {count} "
                    "times, and falls back each time",
                )
    return None


def _filled(evidence: Evidence, policy: Policy) -> Movement | None:
    """The channel that tells best of a fill that is over (more than a single rise)."""
    for metric in _FILLING:
        least = policy.worth_telling_tensor_bytes if metric == "leak.bytes" else policy.worth_telling_bytes
        for movement in _since_warmup(evidence, metric, policy):
            if _is_fill(movement, policy) and movement.rise >= least:
                return movement
    sites = evidence.ledger.sites if evidence.ledger is not None else ()
    bounded = [s.bytes for s in sites if _is_fill(s.bytes, policy)]
    largest = max(bounded, key=lambda m: m.rise, default=None)
    return largest if largest is not None and largest.rise >= policy.worth_telling_tensor_bytes else None


def _is_fill(movement: Movement, policy: Policy) -> bool:
    return movement.growth.trend == "bounded" and movement.largest_rise <= policy.single_share * movement.rise


def _readers(evidence: Evidence, metric: str) -> tuple[Assessment, ...]:
    """Tensor figures are the ledger's; the heap and all else the main subject's, where no ledger disturbs them."""
    reader = evidence.ledger if metric in ("leak.bytes", "peak.tensors") else evidence.main
    return (reader,) if reader is not None and reader.sound else ()


def _since_warmup(evidence: Evidence, metric: str, policy: Policy) -> Iterator[Movement]:
    """Movements from the end of the warm-up that was run as such: what was found to be start-up is told as well."""
    for assessment in _readers(evidence, metric):
        known = assessment.find(metric)
        series = _from_warmup(assessment, metric)
        if known is not None and known.start == assessment.subject.warmup_steps - 1:
            yield known
        elif series is not None:
            yield movement_of_series(series, policy, start=assessment.subject.warmup_steps - 1)


def _from_warmup(assessment: Assessment, metric: str) -> Series | None:
    series = assessment.subject.find(metric)
    kept = series.since(assessment.subject.warmup_steps - 1) if series is not None else None
    return kept if kept is not None and len(kept.steps) >= 2 else None


def _single_jump(series: Series, policy: Policy) -> tuple[int, float] | None:
    x, y = np.array(series.steps), np.array(series.values, dtype=float)
    noise = local_noise(x, y)
    least = max(policy.peak_over_noise * noise, policy.worth_telling_bytes)
    jumps = peaks_rising(x, y, least / 2)
    if len(jumps) != 1:
        return None
    before, after = y[x < jumps[0]], y[x >= jumps[0]]
    size = float(np.median(after) - np.median(before))
    stays = float(after.min()) >= float(before.max()) and size >= least
    return (int(jumps[0]), size) if stays else None


def _peaks(series: Series, policy: Policy) -> tuple[int, float, float] | None:
    """(how many, every how many steps, how high) where at least three like peaks stand at even distances."""
    x, y = np.array(series.steps), np.array(series.values, dtype=float)
    base = float(np.median(y))
    usual = 1.4826 * float(np.median(np.abs(y - base)))
    high = y > base + max(policy.peak_over_noise * usual, policy.worth_telling_bytes)
    starts = np.flatnonzero(high & ~np.concatenate(([False], high[:-1])))
    if len(starts) < 3 or high.mean() > 0.34:
        return None
    gaps: Numbers = np.diff(x[starts])
    if gaps.min() < 3 or gaps.std() > 0.15 * gaps.mean():
        return None
    return len(starts), float(gaps.mean()), float(np.median(y[high])) - base
