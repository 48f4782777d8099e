"""Look-alikes that lie outside the program's own objects: the allocator, the page cache, a fork's pages, churn."""

from __future__ import annotations

from statistics import median

from harness.judge.assessment import Assessment, Evidence
from harness.judge.policy import Policy
from harness.judge.witnesses import agrees
from harness.judge.wording import grew, stopped, title
from harness.model.verdict import LookAlike
from harness.units import format_bytes

__all__ = ["copied_pages", "page_cache", "retained_by_allocator", "steady_churn"]


def retained_by_allocator(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """Resident pages grew and nothing that is in use did: freed, and kept by the C library for the next time."""
    main = evidence.main
    if main is None or main.grows("heap.used"):
        return None
    for start, least in (
        (main.subject.warmup_steps - 1, policy.worth_telling_rss_bytes),
        (-1, 4 * policy.worth_telling_rss_bytes),
    ):
        resident, used = _rise(main, "rss.anon", start), _rise(main, "heap.used", start)
        if resident is None or used is None:
            continue
        kept = resident - max(used, 0) - max(_rise(main, "python.bytes", start) or 0, 0)
        free = _rise(main, "heap.free", start)
        if kept < least or (free is not None and free < kept / 2):
            continue
        held = f", and the heap holds {format_bytes(free)} more free" if free is not None else ""
        return LookAlike(
            look_alike="allocator_retention",
            bytes=int(kept),
            evidence=f"{title('rss.anon')} rose by {format_bytes(resident)} while {title('heap.used')} rose by "
            f"{format_bytes(used)}{held}{_trimmed(main)}",
        )
    return None


def _trimmed(main: Assessment) -> str:
    trimmed = main.subject.trimmed_bytes
    return f"; a trim gave {format_bytes(trimmed)} back" if trimmed else ""


def page_cache(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """Pages of a mapped file: the kernel can drop them at any time."""
    main = evidence.main
    moved = main.find("rss.file") if main is not None else None
    rise = _rise(main, "rss.file", main.subject.warmup_steps - 1) if main is not None else None
    if moved is None or rise is None or rise < policy.worth_telling_rss_bytes or moved.rises < 2 * policy.least_rises:
        return None
    return LookAlike(
        look_alike="page_cache",
        bytes=int(rise),
        evidence=f"{title('rss.file')} rose by {format_bytes(rise)} over {moved.grew_for:,} steps: a mapped file is "
        "being read, and the kernel can drop its pages",
    )


def copied_pages(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """A forked worker's own memory grew, the number of workers did not, and either it stopped, or its resident pages
    stayed as many: copied pages of its parent."""
    main = evidence.main
    memory = main.find("children.bytes") if main is not None else None
    count = main.find("children.count") if main is not None else None
    if main is None or memory is None or count is None or count.growth.trend != "flat":
        return None
    resident = main.find("children.resident")
    if memory.grows and (resident is None or agrees(resident, memory, policy)):
        return None
    rise = _rise(main, "children.bytes", main.subject.warmup_steps - 1)
    if rise is None or rise < policy.worth_telling_rss_bytes or memory.rises < policy.least_rises:
        return None
    return LookAlike(
        look_alike="copy_on_write",
        bytes=int(rise),
        evidence=f"{grew(memory) if memory.grows else stopped(memory)}, with the same number of processes: they share "
        "fewer pages with their parent, since one of the two wrote to them",
    )


def steady_churn(evidence: Evidence, policy: Policy) -> LookAlike | None:
    """Many tensors are allocated in each step, and none survives."""
    ledger = evidence.ledger
    made = ledger.subject.find("allocations.step") if ledger is not None and ledger.sound else None
    live = ledger.find("leak.tensors") if ledger is not None else None
    if ledger is None or made is None or live is None or live.growth.trend != "flat":
        return None
    usual = median(made.since(ledger.warmup_steps).values or (0.0,))
    if usual < policy.worth_telling_allocations:
        return None
    peak = ledger.subject.find("peak.tensors")
    return LookAlike(
        look_alike="steady_churn",
        bytes=int(median(peak.since(ledger.warmup_steps).values)) if peak is not None else 0,
        evidence=f"{usual:,.0f} tensor storages are allocated in each step, and the number alive stays the same",
    )


def _rise(main: Assessment, metric: str, start: int) -> float | None:
    """The level of the last readings over the first one from step *start* on."""
    series = main.subject.find(metric)
    kept = series.since(start) if series is not None else None
    if kept is None or len(kept.values) < 2:
        return None
    return median(kept.values[-8:]) - kept.values[0]
