"""Recordings for tests of the judgement: a process in which nothing moves but what a test says."""

from __future__ import annotations

from collections.abc import Sequence

from harness.judge.detector import judge
from harness.model.allocation import SiteRecord
from harness.model.recording import FaultRecord, Recording, SubjectRecord
from harness.model.verdict import Verdict
from tests.builders import MIB, flat, ledger, recording, subject

__all__ = [
    "STEPS",
    "classes",
    "fault",
    "followed",
    "metrics",
    "plain",
    "still",
    "uncollected",
    "with_fault",
    "with_workers",
]

STEPS = 408


def still(steps: int = STEPS) -> dict[str, Sequence[float]]:
    """Readings of a process in which nothing moves."""
    return {
        "heap.used": flat(steps),
        "heap.free": flat(steps, MIB),
        "python.bytes": flat(steps, 30 * MIB),
        "python.blocks": flat(steps, 400_000),
        "rss.anon": flat(steps, 200 * MIB),
        "mapped.private": flat(steps, 500 * MIB),
        "rss.file": flat(steps, 90 * MIB),
        "rss.shared": flat(steps, 0),
        "shm.bytes": flat(steps, 0),
        "fds": flat(steps, 12),
        "threads": flat(steps, 2),
        "children.count": flat(steps, 0),
    }


def plain(steps: int = STEPS, **moving: Sequence[float]) -> SubjectRecord:
    """The undisturbed subject; *moving* replaces readings (``heap_used=...``)."""
    return subject("plain", still(steps) | {k.replace("_", ".", 1): v for k, v in moving.items()})


def followed(*sites: SiteRecord, steps: int = STEPS, dropped: int = 0, **moving: Sequence[float]) -> SubjectRecord:
    """The ledger's subject: its totals are those of its sites."""
    total = {
        "leak.bytes": [float(sum(v)) for v in zip(*(s.bytes for s in sites), strict=True)] or flat(steps, 0),
        "leak.tensors": [float(sum(v)) for v in zip(*(s.storages for s in sites), strict=True)] or flat(steps, 0),
    }
    readings = still(steps) | total | {k.replace("_", ".", 1): v for k, v in moving.items()}
    return subject("ledger", readings, ledger=ledger(*sites, dropped=dropped))


def fault(kind: str = "null_gradient", *, raised: bool = False) -> FaultRecord:
    return FaultRecord(fault=kind, explanation="weight.grad is None", step=0, raised=raised)


def metrics(verdict: Verdict) -> list[str]:
    return [s.metric for s in verdict.suspects]


def classes(verdict: Verdict) -> list[str]:
    return [look_alike.look_alike for look_alike in verdict.look_alikes]


def with_workers(unique: Sequence[float], resident: Sequence[float]) -> Verdict:
    """One worker, whose memory of its own and whose resident pages move so."""
    grown = still() | {"children.count": flat(STEPS, 1), "children.bytes": unique, "children.resident": resident}
    every = dict.fromkeys(("children.count", "children.bytes", "children.resident"), 4)
    return judge(recording(subject("plain", grown, every=every)))


def uncollected(values: list[float], **state: object) -> SubjectRecord:
    readings = still(len(values) - 1) | {"heap.used": values}
    return subject("uncollected", readings, **state)  # type: ignore[arg-type]


def with_fault(**more: Sequence[float]) -> Recording:
    seen = subject("plain", still() | {k.replace("_", ".", 1): v for k, v in more.items()}, faults=[fault()])
    return recording(seen)
