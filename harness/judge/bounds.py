"""Containers that say how much they take: what fills them is no leak, however long it has been filling."""

from __future__ import annotations

from collections.abc import Sequence

from harness.judge.policy import Policy
from harness.judge.witnesses import Claim
from harness.model.holding import GrownContainer, HeldRecord, HolderPath
from harness.model.recording import Recording
from harness.model.verdict import LookAlike
from harness.units import format_bytes, format_count

__all__ = ["bounded_by_themselves", "says_unbounded"]

_OBJECTS = ("heap.used", "python.bytes", "python.blocks")


def bounded_by_themselves(
    claims: Sequence[Claim], recording: Recording, policy: Policy
) -> tuple[tuple[Claim, ...], tuple[LookAlike, ...]]:
    """*claims* without those whose growth is a bounded container's that is not full, and what these are instead.

    The bound predicts the plateau. A container that has as many elements as it takes, or more, cannot be the reason."""
    held = _held(recording)
    if held is None:
        return tuple(claims), ()
    filling = {id(c): path for c in claims if (path := _filling(c, held)) is not None}
    if not filling:
        return tuple(claims), ()
    told = {_names(path): _look_alike(path, held) for path in sorted(filling.values(), key=lambda p: p.bytes)}
    rest = [claim for claim in claims if id(claim) not in filling]
    tensors = [c for c in claims if c.metric == "leak.bytes"]
    if tensors and all(id(c) in filling for c in tensors):
        rest = [c for c in rest if c.metric not in _OBJECTS or not _explained(c, tensors, policy)]
    return tuple(rest), tuple(told.values())


def says_unbounded(claims: Sequence[Claim], recording: Recording) -> bool:
    """Whether the containers on the ways of all *claims* say that they have no bound: nothing will stop them."""
    held = _held(recording)
    ways = [_way(claim, held) for claim in claims] if held is not None else []
    return bool(ways) and all(way is not None and way.unbounded for way in ways)


def _names(path: HolderPath) -> tuple[str, ...]:
    links = path.links[: path.suspect + 1] if path.suspect is not None else path.links
    return (path.root, *(link.name for link in links))


def _held(recording: Recording) -> HeldRecord | None:
    ledger = recording.subject("ledger")
    return ledger.held if ledger is not None else None


def _way(claim: Claim, held: HeldRecord) -> HolderPath | None:
    if claim.site is not None:
        ways = held.sites.get(claim.site.site, ())
        return ways[0] if ways else None
    container = _largest(held) if claim.metric in _OBJECTS else None
    return container.path if container is not None else None


def _largest(held: HeldRecord) -> GrownContainer | None:
    return max(held.containers, key=lambda c: c.bytes_per_step, default=None)


def _filling(claim: Claim, held: HeldRecord) -> HolderPath | None:
    """The way to the bounded container that this claim fills, where it is not full."""
    if claim.site is not None and len(held.sites.get(claim.site.site, ())) > 1:
        return None  # something else holds them too
    way = _way(claim, held)
    if way is None or way.bound is None or way.grew is None or way.grew[1] >= way.bound:
        return None
    return way


def _explained(claim: Claim, tensors: Sequence[Claim], policy: Policy) -> bool:
    """Heap and objects that grow with the tensors in the container, by no more than comes with tensors."""
    total = tensors[0].movement.growth.per_step
    number = sum(t.site_movement.growth.per_step for t in tensors if t.site_movement is not None) / max(total, 1.0)
    beside = claim.movement.growth.per_step - (total if claim.metric == "heap.used" else 0.0)
    return beside <= max((1 - policy.explained_share) * total, policy.python_bytes_beside_tensor * max(1.0, number))


def _look_alike(path: HolderPath, held: HeldRecord) -> LookAlike:
    assert path.grew is not None
    assert path.bound is not None
    then, now = path.grew
    per_step = (now - then) / max(1, held.steps)
    left = (path.bound - now) / per_step if per_step > 0 else 0.0
    container = next((c for c in held.containers if _names(c.path) == _names(path)), None)
    each = path.bytes / max(1, path.storages) or (container.element_bytes if container is not None else 0)
    name = _names(path)[-1]
    full = f", and takes {format_bytes(each * path.bound)} then" if each else ""
    return LookAlike(
        look_alike="bounded_cache",
        bytes=int(each * now),
        evidence=f"{name} holds {format_count(now)} of the {format_count(path.bound)} elements that it takes at most: "
        f"at {per_step:.3g} a step it is full after {format_count(int(left))} more steps{full}",
    )
