"""What one subject's numbers say, channel by channel; the ground on which verdicts and checkpoints stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.judge.growth import Movement, movement_of
from harness.judge.health import problems_of
from harness.judge.movements import Movements
from harness.judge.policy import Policy
from harness.model.allocation import SiteRecord
from harness.model.recording import Recording, SubjectRecord
from harness.stats.warmup import settled_from

__all__ = ["Assessment", "Evidence", "SiteMovement", "assess", "assess_recording"]

_SETTLING = ("heap.used", "leak.bytes", "python.blocks")
"""Quiet metrics that are read at every boundary: start-up shows in them, noise does not."""


@dataclass(frozen=True, kw_only=True)
class SiteMovement:
    """How the survivors of one site moved: their number and their bytes."""

    site: SiteRecord
    storages: Movement
    bytes: Movement
    replaced_by_larger: bool

    @property
    def grows(self) -> bool:
        """More survivors, or larger ones (a storage replaced by a longer one in each step)."""
        return self.storages.grows or self.replaced_by_larger

    @property
    def leading(self) -> Movement:
        """The movement that tells: bytes where they grow, else the count."""
        return self.bytes if self.bytes.grows else self.storages


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """One subject: movements by metric, its sites, what makes it unsound (sentences; empty: sound).

    ``survivors_grow``: the ledger shows growth, and so this subject's own heap holds our entries for it as well.
    """

    subject: SubjectRecord
    warmup_steps: int
    movements: Mapping[str, Movement]
    sites: tuple[SiteMovement, ...]
    problems: tuple[str, ...]
    survivors_grow: bool = False

    @property
    def measured(self) -> int:
        """Steps after the warm-up that was run as such."""
        return max(self.subject.steps - self.subject.warmup_steps, 0)

    @property
    def sound(self) -> bool:
        """Nothing speaks against judging it."""
        return not self.problems

    @property
    def growing_sites(self) -> tuple[SiteMovement, ...]:
        """Those whose survivors grow to the end, the most bytes first."""
        growing = [s for s in self.sites if s.grows]
        return tuple(sorted(growing, key=lambda s: -s.bytes.growth.per_step))

    def find(self, metric: str) -> Movement | None:
        """The movement of *metric*, or None where it was not read."""
        return self.movements.get(metric)

    def grows(self, metric: str) -> bool:
        """Whether *metric* was read and grows."""
        found = self.movements.get(metric)
        return found is not None and found.grows


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The assessments of a recording by role."""

    plain: Assessment | None
    ledger: Assessment | None
    uncollected: Assessment | None
    repeated: Assessment | None = None
    beside_tensors: Movement | None = None
    """The plain subject's heap less the tensors that the ledger counted in the same steps: both run the same program
    with the same seeds, so what only passes through tensors cancels."""

    @property
    def main(self) -> Assessment | None:
        """The one whose counters are judged: undisturbed by a ledger where there is such a one."""
        return self.plain or self.ledger or self.uncollected

    @property
    def second(self) -> Assessment | None:
        """The ledger's subject as an independent second run: not where its heap holds entries for survivors."""
        if self.plain is None or self.ledger is None or not self.ledger.sound or self.ledger.survivors_grow:
            return None
        return self.ledger


def assess_recording(recording: Recording, policy: Policy) -> Evidence:
    """Assess every subject that was started."""

    def of(role: str) -> Assessment | None:
        subject = next((s for s in recording.subjects if s.role == role), None)
        return assess(subject, policy) if subject is not None and subject.started else None

    plain, ledger = of("plain"), of("ledger")
    return Evidence(
        plain=plain,
        ledger=ledger,
        uncollected=of("uncollected"),
        repeated=of("repeated"),
        beside_tensors=_beside_tensors(plain, ledger, policy),
    )


def _beside_tensors(plain: Assessment | None, ledger: Assessment | None, policy: Policy) -> Movement | None:
    if plain is None or ledger is None or not plain.sound or not ledger.sound:
        return None
    heap, tensors = plain.subject.find("heap.used"), ledger.subject.find("leak.bytes")
    if heap is None or tensors is None:
        return None
    counted = dict(zip(tensors.steps, tensors.values, strict=True))
    start = plain.warmup_steps - 1
    left = [(s, v - counted[s]) for s, v in zip(heap.steps, heap.values, strict=True) if s >= start and s in counted]
    return movement_of(heap.metric, [s for s, _ in left], [v for _, v in left], policy) if left else None


def assess(subject: SubjectRecord, policy: Policy) -> Assessment:
    """Look at every series of *subject* after its warm-up; an unsound subject gets no movements."""
    problems = problems_of(subject, policy)
    if problems:
        return Assessment(subject=subject, warmup_steps=subject.warmup_steps, movements={}, sites=(), problems=problems)
    warmup = _settled(subject, policy)
    movements = Movements(subject, policy, start=warmup - 1)
    sites = _sites(subject, policy, start=warmup - 1)
    return Assessment(
        subject=subject,
        warmup_steps=warmup,
        movements=movements,
        sites=sites,
        problems=(),
        survivors_grow=_survivors_grow(movements, sites, policy),
    )


def _survivors_grow(movements: Mapping[str, Movement], sites: tuple[SiteMovement, ...], policy: Policy) -> bool:
    total, number = movements.get("leak.bytes"), movements.get("leak.tensors")
    larger = total is not None and total.grows and total.one_way >= policy.least_one_way
    return larger or (number is not None and number.grows) or any(s.grows for s in sites)


def _settled(subject: SubjectRecord, policy: Policy) -> int:
    """Warm-up steps: those that were run as such, or more where start-up rises went on."""
    latest = subject.warmup_steps
    for metric in _SETTLING:
        series = subject.find(metric)
        kept = series.since(subject.warmup_steps - 1) if series is not None else None
        if kept is not None and kept.steps:
            x, y = np.array(kept.steps), np.array(kept.values, dtype=float)
            least, most = policy.least_start_up(metric), policy.most_warmup_steps
            latest = max(latest, int(settled_from(x, y, least=least, most=most)) + 1)
    return latest


def _sites(subject: SubjectRecord, policy: Policy, *, start: int) -> tuple[SiteMovement, ...]:
    if subject.ledger is None or subject.ledger.dropped:
        return ()
    found = []
    for site in subject.ledger.sites:
        first = next((k for k, step in enumerate(site.steps) if step >= start), len(site.steps))
        steps, storages, sizes = site.steps[first:], site.storages[first:], site.bytes[first:]
        if not steps or (max(storages) == storages[0] and max(sizes) == sizes[0]):
            continue  # most sites of most programs: nothing was ever added
        number = movement_of("leak.tensors", steps, storages, policy)
        size = movement_of("leak.bytes", steps, sizes, policy)
        larger = size.grows and size.one_way >= policy.least_one_way
        found.append(SiteMovement(site=site, storages=number, bytes=size, replaced_by_larger=larger))
    return tuple(found)
