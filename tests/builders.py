"""Builders of what capture saves, for tests that judge it: series, sites, subjects, recordings.

Values are given one a boundary, from the reading after set-up (step -1) on: ``line(100)`` is that reading and 100
steps. Whatever a test does not say is the plainest thing there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.model.allocation import Frame, SiteRecord
from harness.model.environment import Environment, Tool
from harness.model.expectation import Expectation
from harness.model.recording import (
    Ending,
    EndingStatus,
    FaultRecord,
    LedgerRecord,
    Recording,
    Role,
    ScenarioFacts,
    SubjectRecord,
    Variant,
)
from harness.model.series import Series

__all__ = [
    "MIB",
    "fills",
    "flat",
    "jumps",
    "ledger",
    "line",
    "recording",
    "saw_tooth",
    "series",
    "site",
    "stairs",
    "subject",
]

MIB = 1 << 20


def flat(steps: int, value: float = 50 * MIB) -> list[float]:
    """Always the same."""
    return [value] * (steps + 1)


def line(steps: int, per_step: float = 4096, start: float = 50 * MIB) -> list[float]:
    """The same rise in each step."""
    return [start + per_step * k for k in range(steps + 1)]


def stairs(steps: int, every: int, rise: float = 32768, start: float = 50 * MIB) -> list[float]:
    """A rise in each *every*-th step."""
    return [start + rise * (k // every) for k in range(steps + 1)]


def fills(steps: int, until: int, per_step: float = 4096, start: float = 50 * MIB) -> list[float]:
    """A rise in each step up to step *until*, then none: a buffer that fills."""
    return [start + per_step * min(k, until) for k in range(steps + 1)]


def jumps(steps: int, at: int, rise: float = 64 * MIB, start: float = 50 * MIB) -> list[float]:
    """One rise, in step *at*."""
    return [start + (rise if k > at else 0) for k in range(steps + 1)]


def saw_tooth(steps: int, period: int, per_step: float = 4096, start: float = 50 * MIB) -> list[float]:
    """Rises, and falls back to the start each *period* steps."""
    return [start + per_step * (k % period) for k in range(steps + 1)]


def series(metric: str, values: Sequence[float], *, every: int = 1) -> Series:
    """*values* as a series; with *every*, only each such boundary was read."""
    return Series(
        metric=metric, steps=tuple(range(-1, len(values) - 1))[::every], values=tuple(float(v) for v in values)[::every]
    )


def site(
    sizes: Sequence[float],
    *,
    storages: Sequence[float] | None = None,
    oldest: Sequence[int | None] | None = None,
    number: int = 1,
    line: int = 12,
    in_graph: int = 0,
) -> SiteRecord:
    """A site with *sizes* bytes alive at each boundary; one storage each 4096 bytes, the oldest from step 0."""
    counts = storages if storages is not None else [s // 4096 for s in sizes]
    births = oldest if oldest is not None else [0 if c else None for c in counts]
    return SiteRecord(
        site=number,
        device="cpu",
        operator="aten::ones",
        frames=(Frame(path="job.py", line=line, function="step", source="kept.append(torch.ones(1024))"),),
        steps=tuple(range(-1, len(sizes) - 1)),
        storages=tuple(int(c) for c in counts),
        bytes=tuple(int(s) for s in sizes),
        oldest_birth=tuple(births),
        in_graph=in_graph,
    )


def ledger(*sites: SiteRecord, dropped: int = 0) -> LedgerRecord:
    """What the ledger saw: its sites, and nothing else of note."""
    return LedgerRecord(
        source="dispatch", blind_to="other threads", peak_bytes={"cpu": 0}, sites=sites, dropped=dropped
    )


def subject(
    role: Role = "plain",
    readings: Mapping[str, Sequence[float]] | None = None,
    *,
    steps: int | None = None,
    warmup: int = 8,
    every: Mapping[str, int] | None = None,
    ending: EndingStatus = "ok",
    detail: str | None = None,
    started: bool = True,
    ledger: LedgerRecord | None = None,
    faults: Sequence[FaultRecord] = (),
    collector_enabled: bool = True,
    frozen_growth: int = 0,
    elapsed_s: float = 10.0,
) -> SubjectRecord:
    """A process with these *readings* (metric to values); as many steps as the longest has, unless said."""
    given = dict(readings or {})
    ran = steps if steps is not None else max((len(v) - 1 for v in given.values()), default=0)
    return SubjectRecord(
        role=role,
        pid=1,
        warmup_steps=warmup,
        steps=ran,
        elapsed_ns=int(elapsed_s * 1e9),
        step_ns=Series(metric="step_ns", steps=tuple(range(ran)), values=(elapsed_s * 1e9 / max(ran, 1),) * ran),
        series=tuple(series(m, v, every=(every or {}).get(m, 1)) for m, v in given.items()),
        ending=Ending(status=ending, detail=detail),
        started=started,
        ledger=ledger,
        faults=tuple(faults),
        collector_enabled=collector_enabled,
        frozen_growth=frozen_growth,
    )


def recording(
    *subjects: SubjectRecord, expected: Expectation | None = None, variant: Variant = "step", name: str = "job"
) -> Recording:
    """One variant of a scenario, run in these subjects."""
    return Recording(
        tool=Tool(name="torch-leak-harness", version="0"),
        environment=Environment(
            python="3.11.0",
            torch="2.13.0",
            platform="Linux",
            cpu_count=2,
            torch_threads=1,
            memory_bytes=8 << 30,
            seed=0,
        ),
        scenario=ScenarioFacts(
            name=name, path=f"{name}.py", variant=variant, expected=expected or Expectation(kind="stable")
        ),
        subjects=subjects,
    )
