"""Which channels claim a leak, and whether a second one agrees. One function a channel; the order is a tuple."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.judge.assessment import Assessment, Evidence
from harness.judge.growth import Movement
from harness.judge.movements import OUTSIDE_HEAP
from harness.judge.policy import Policy
from harness.judge.wording import grew, rate, span_of, title
from harness.model.allocation import SiteRecord
from harness.model.series import Growth

__all__ = ["Claim", "Doubt", "examine"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A channel that leaks, with its reasons. ``site`` stands for tensors, ``site_movement`` for its survivors;
    ``own_growth`` is what is left of the growth when another claim explains a part of it; ``in_uncollected``: it was
    seen only where the collector was left to itself."""

    movement: Movement
    reasons: tuple[str, ...]
    site: SiteRecord | None = None
    site_movement: Movement | None = None
    own_growth: Growth | None = None
    in_uncollected: bool = False

    @property
    def metric(self) -> str:
        return self.movement.metric


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Growth that no second witness confirms, or that may yet stop: a sentence."""

    movement: Movement
    reason: str


Opinion = Claim | Doubt
Witness = Callable[[Evidence, Policy], Iterable[Opinion]]


def examine(evidence: Evidence, policy: Policy) -> tuple[tuple[Claim, ...], tuple[Doubt, ...]]:
    """Ask every channel. A channel whose growth slows down only ever gives a doubt."""
    claims: list[Claim] = []
    doubts: list[Doubt] = []
    for witness in WITNESSES:
        for opinion in witness(evidence, policy):
            if isinstance(opinion, Doubt):
                doubts.append(opinion)
            elif (opinion.site_movement or opinion.movement).slowing:
                doubts.append(_dying_away(opinion))
            else:
                claims.append(opinion)
    return tuple(claims), tuple(doubts)


def _dying_away(claim: Claim) -> Doubt:
    said = claim.reasons[0]
    return Doubt(movement=claim.movement, reason=f"{said}, but ever more slowly: a cache that fills looks like this")


def agrees(second: Movement | None, first: Movement, policy: Policy) -> bool:
    """Whether *second* (same unit) rises significantly, and by a fair share of what *first* rises."""
    return (
        second is not None
        and second.p <= policy.agreeing_p
        and second.growth.low > 0
        and second.growth.per_step >= policy.agreeing_share * first.growth.per_step
    )


def counts(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """Children, threads and descriptors are exact, and each is a leak by itself."""
    main = evidence.main
    for metric in ("children.count", "threads", "fds"):
        if main is not None and main.grows(metric):
            movement = main.movements[metric]
            yield Claim(movement=movement, reasons=(grew(movement),))


_WHERE_TENSORS_LIE = ("heap.used", "shm.bytes", "rss.shared", "rss.anon", "device.allocated")


def tensors(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """The ledger is exact: survivors that grow to the end are a leak, unless the plain subject shows otherwise."""
    ledger = evidence.ledger
    if ledger is None or not ledger.survivors_grow:
        return
    total = ledger.find("leak.bytes")
    if total is None:
        return
    sites = [s for s in ledger.growing_sites if not _moved_elsewhere(s.storages, ledger)]
    if not sites and not ledger.grows("leak.bytes"):
        return
    leading = total if total.grows or not sites else sites[0].leading
    if _stopped_without_ledger(total, evidence):
        return  # the undisturbed subject ran on, and shows where the fill ends
    against = _contradiction(total, evidence, policy)
    if against is not None:
        yield Doubt(movement=total, reason=f"{grew(leading)} under the ledger, but {against}")
        return
    if not sites:
        yield Claim(movement=total, reasons=(grew(total), "no single line's survivors grow: many lines share it"))
    for site in sites[: policy.most_suspects]:
        reasons = (grew(site.leading, where=_where(site.site)), _turnover(site.site))
        yield Claim(movement=total, reasons=reasons, site=site.site, site_movement=site.leading)


def _moved_elsewhere(storages: Movement, ledger: Assessment) -> bool:
    """Survivors of one line that take the place of another's: the number in all stays as it was."""
    total = ledger.find("leak.tensors")
    return total is not None and storages.grows and total.growth.high < 0.25 * storages.growth.per_step


def _stopped_without_ledger(tensors: Movement, evidence: Evidence) -> bool:
    """The plain subject, which is faster, went on for longer than the ledger's, and its heap stopped growing."""
    plain = evidence.plain
    heap = plain.find("heap.used") if plain is not None else None
    return heap is not None and heap.growth.trend == "bounded" and heap.end > tensors.end and heap.still_for > 0


def _contradiction(tensors: Movement, evidence: Evidence, policy: Policy) -> str | None:
    """Why the undisturbed subject does not bear out what the ledger counted (of CPU memory); None where it does.

    Where it ran for longer, it must itself be growing; else it must only not exclude the growth.
    """
    plain = evidence.plain
    heap = plain.find("heap.used") if plain is not None and plain.sound else None
    if plain is None or heap is None or not tensors.grows:
        return None
    needed = policy.contradicting_share * tensors.growth.per_step
    kin = [m for m in (plain.find(name) for name in _WHERE_TENSORS_LIE) if m is not None]
    if heap.end > 1.25 * tensors.end:
        needed = policy.recent_share * tensors.growth.per_step
        bears_out = any(m.grows and m.growth.per_step >= needed for m in kin)
    else:
        bears_out = any(m.growth.high >= needed for m in kin)
    if bears_out:
        return None
    return (
        f"{title('heap.used')} moved by {rate(heap.growth.per_step, 'bytes')} (at most "
        f"{rate(heap.growth.high, 'bytes')}) over {span_of(heap)} without it"
    )


def _contradicted(evidence: Evidence, policy: Policy) -> bool:
    total = evidence.ledger.find("leak.bytes") if evidence.ledger is not None else None
    return total is not None and _contradiction(total, evidence, policy) is not None


def _where(site: SiteRecord) -> str:
    if not site.frames:
        return f" from {site.operator}"
    return f" from {site.frames[0].path}:{site.frames[0].line}"


def _turnover(site: SiteRecord) -> str:
    births = [b for b in site.oldest_birth if b is not None]
    alive = f"{site.storages[-1]:,} storages are alive"
    if not births or births[-1] == births[len(births) // 2]:
        oldest = "before the first step" if births and births[-1] < 0 else f"step {births[-1] if births else 0}"
        return f"{alive} and the oldest did not die: it is from {oldest}"
    return f"{alive}; old ones die (the oldest is from step {births[-1]}), and more come than go"


def heap(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """The C heap grows; tensors, Python, a second run, or the kernel's view must agree."""
    main = evidence.main
    moved = main.find("heap.used") if main is not None else None
    if main is None or moved is None:
        return
    if _passes_through_tensors(moved, evidence, policy):
        return
    if moved.unsettled:
        yield Doubt(movement=moved, reason=f"{grew(moved)}, and the noise hides whether it still grows")
    if not moved.grows:
        return
    if evidence.ledger is not None and evidence.ledger.survivors_grow and _contradicted(evidence, policy):
        return  # the same question, raised already
    if main.subject.role == "ledger" and main.survivors_grow:
        return  # its heap holds our own entries for the survivors, which are claimed already
    movement = main.movements["heap.used"]
    agreed = _second_of_heap(movement, main, evidence, policy)
    if agreed is None:
        yield Doubt(movement=movement, reason=f"{grew(movement)}, and no second measurement confirms it")
    else:
        yield Claim(movement=movement, reasons=(grew(movement), agreed))


def _passes_through_tensors(heap: Movement, evidence: Evidence, policy: Policy) -> bool:
    """The heap follows the live tensors, and no line's survivors grow: a ring buffer of various sizes, a batch."""
    beside = evidence.beside_tensors
    ledger = evidence.ledger
    if beside is None or ledger is None or ledger.survivors_grow or beside.span < heap.span / 2:
        return False
    number = ledger.find("leak.tensors")
    if number is None or number.doubtful:
        return False
    return beside.growth.high < policy.agreeing_share * heap.growth.per_step


def _second_of_heap(first: Movement, main: Assessment, evidence: Evidence, policy: Policy) -> str | None:
    tensors = evidence.ledger.find("leak.bytes") if evidence.ledger is not None else None
    if tensors is not None and agrees(tensors, first, policy):
        return f"the tensor ledger agrees: {rate(tensors.growth.per_step, 'bytes')} of live storages"
    second = evidence.second.find("heap.used") if evidence.second is not None else None
    if second is not None and agrees(second, first, policy):
        return f"a second run agrees: {rate(second.growth.per_step, 'bytes')}"
    for metric in ("rss.anon", "mapped.private"):
        other = main.find(metric)
        if other is not None and agrees(other, first, policy):
            return f"the kernel agrees: {title(metric)} grew {rate(other.growth.per_step, 'bytes')}"
    for metric in ("python.bytes", "python.blocks", "graph.nodes"):
        other = main.find(metric)
        if other is not None and other.grows:
            return f"{title(metric)} agree: they grew {rate(other.growth.per_step, other.growth.unit)}"
    return None


def python(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """Small Python objects grow, in bytes and in blocks or in both runs."""
    main = evidence.main
    if main is None or not main.grows("python.bytes"):
        return
    if main.subject.role == "ledger" and main.survivors_grow:
        return
    movement, blocks = main.movements["python.bytes"], main.find("python.blocks")
    second = evidence.second.find("python.bytes") if evidence.second is not None else None
    if blocks is not None and blocks.grows:
        agreed = f"so did their number: {rate(blocks.growth.per_step, 'count')}"
    elif second is not None and agrees(second, movement, policy):
        agreed = f"a second run agrees: {rate(second.growth.per_step, 'bytes')}"
    else:
        yield Doubt(
            movement=movement, reason=f"{grew(movement)}, and neither their number nor a second run confirms it"
        )
        return
    yield Claim(movement=movement, reasons=(grew(movement), agreed))


def shared(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """Shared memory: /dev/shm is the machine's, so this process's own pages, or a second run, must agree."""
    main = evidence.main
    if main is None:
        return
    other = evidence.ledger if evidence.plain is not None else None
    for metric, kin in (("shm.bytes", "rss.shared"), ("rss.shared", "shm.bytes")):
        if not main.grows(metric):
            continue
        movement = main.movements[metric]
        relative = main.find(kin)
        second = other.find(metric) if other is not None and other.sound else None
        if agrees(relative, movement, policy):
            yield Claim(movement=movement, reasons=(grew(movement), f"{title(kin)} grew as well"))
        elif agrees(second, movement, policy) and (metric == "shm.bytes" or _objects_grow(main)):
            yield Claim(movement=movement, reasons=(grew(movement), "a second run of the program did the same"))
        elif metric == "shm.bytes" and second is not None and not second.grows:
            continue  # the program ran again and it did not grow: it was another's
        else:
            yield Doubt(movement=movement, reason=f"{grew(movement)}, and {_not_shared(metric)}")
        return


def _not_shared(metric: str) -> str:
    if metric == "shm.bytes":
        return "nothing in this process grew with it: another program may be filling /dev/shm"
    return "nothing new was shared: pages that were mapped before may only be touched for the first time"


def _objects_grow(main: Assessment) -> bool:
    """Some object comes with each new mapping: any lasting growth of blocks, heap or descriptors will do."""
    moved = (main.find(m) for m in ("python.blocks", "heap.used", "fds"))
    return any(m is not None and m.growth.low > 0 for m in moved)


def mapped(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """Memory mapped directly: address space grows beyond the heap, and its pages become resident."""
    main = evidence.main
    outside = main.find(OUTSIDE_HEAP) if main is not None else None
    if main is None or outside is None or not outside.grows:
        return
    resident = main.find("rss.anon")
    movement = main.movements["mapped.private"]
    if agrees(resident, outside, policy):
        yield Claim(
            movement=movement,
            reasons=(
                grew(movement),
                f"{rate(outside.growth.per_step, 'bytes')} of it lie outside the heap, and are touched",
            ),
        )
    else:
        yield Doubt(movement=movement, reason=f"{grew(movement)}, but its pages are never touched")


def children(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """The descendants' own memory grows, and so do their resident pages: copied pages of a fork leave those as many."""
    main = evidence.main
    if main is None or not main.grows("children.bytes") or main.grows("children.count"):
        return
    movement = main.movements["children.bytes"]
    resident = main.find("children.resident")
    if resident is not None and not agrees(resident, movement, policy):
        return  # told as copy_on_write
    if main.measured < policy.horizon("children.bytes"):
        yield Doubt(
            movement=movement, reason=f"{grew(movement)}: too short to tell from pages that a forked worker copies"
        )
        return
    if resident is None:
        yield Doubt(movement=movement, reason=f"{grew(movement)}, and their resident pages were not read")
        return
    agreed = f"it is memory of their own: their resident pages grew {rate(resident.growth.per_step, 'bytes')}"
    yield Claim(movement=movement, reasons=(grew(movement), agreed))


def device(evidence: Evidence, policy: Policy) -> Iterable[Opinion]:
    """The accelerator's allocator is exact; its cache may grow alone, and memory outside it needs a second run."""
    main = evidence.main
    if main is None:
        return
    for metric in ("device.allocated", "device.reserved"):
        if main.grows(metric):
            movement = main.movements[metric]
            yield Claim(movement=movement, reasons=(grew(movement),))
            return
    if main.grows("device.outside"):
        movement = main.movements["device.outside"]
        second = evidence.ledger.find("device.outside") if evidence.ledger is not None else None
        if agrees(second, movement, policy):
            yield Claim(movement=movement, reasons=(grew(movement), "a second run did the same"))
        else:
            yield Doubt(movement=movement, reason=f"{grew(movement)}: another process may be taking it")


WITNESSES: tuple[Witness, ...] = (counts, tensors, device, shared, heap, python, mapped, children)
