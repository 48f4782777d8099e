"""Claims to suspects: what is one leak becomes one, the biggest first."""

from __future__ import annotations

from collections.abc import Sequence

from harness.detect.assessment import Evidence
from harness.detect.policy import Policy
from harness.detect.witnesses import Claim
from harness.model.verdict import Suspect

__all__ = ["suspects_of"]

_COUNTS = ("children.count", "threads", "fds")


def suspects_of(claims: Sequence[Claim], evidence: Evidence, policy: Policy) -> tuple[Suspect, ...]:
    """Descriptors, threads and children first, for they explain the memory that comes with them; then the sites of
    tensors, one suspect each (several may be one leak: their holder tells); then what tensors do not explain."""
    left = list(claims)
    for explain in (_by_counts, _by_shared, _by_tensors, _python_or_heap):
        left = explain(left, evidence, policy)
    order = sorted(left, key=lambda c: (c.metric not in _COUNTS, -_bytes(c)))
    return tuple(
        Suspect(
            metric=c.metric,
            growth=c.movement.growth,
            site=c.site,
            site_growth=c.site_movement.growth if c.site_movement is not None else None,
        )
        for c in order
    )


def _bytes(claim: Claim) -> float:
    return (claim.site_movement or claim.movement).growth.per_step


def _by_counts(claims: list[Claim], evidence: Evidence, policy: Policy) -> list[Claim]:
    """A thread, a descriptor or a child brings heap, objects and mappings along."""
    counts = [c for c in claims if c.metric in _COUNTS]
    if not counts:
        return claims
    allowance = policy.heap_bytes_beside_count * max(c.movement.growth.per_step for c in counts)
    owner = next(c for metric in _COUNTS for c in counts if c.metric == metric)
    heap = sum(_bytes(c) for c in claims if c.site is not None)
    return [
        c
        for c in claims
        if c is owner
        or c.site is not None
        or (c.metric in ("heap.used", "python.bytes") and _bytes(c) - heap > allowance)
        or (c.metric == "shm.bytes" and owner.metric == "fds")
    ]


def _by_shared(claims: list[Claim], evidence: Evidence, policy: Policy) -> list[Claim]:
    """Tensors in shared memory are one leak with it; so are the objects and descriptors around them."""
    shared = next((c for c in claims if c.metric in ("shm.bytes", "rss.shared")), None)
    if shared is None:
        return claims
    allowance = max(policy.python_bytes_beside_tensor, (1 - policy.explained_share) * _bytes(shared))
    return [
        c
        for c in claims
        if c is shared or c.site is not None or (c.metric in ("heap.used", "python.bytes") and _bytes(c) > allowance)
    ]


def _by_tensors(claims: list[Claim], evidence: Evidence, policy: Policy) -> list[Claim]:
    """The heap's growth is the tensors' unless they explain too little of it; so are a few objects around each."""
    tensors = [c for c in claims if c.metric == "leak.bytes"]
    if not tensors or evidence.ledger is None:
        return claims
    total = evidence.ledger.movements["leak.bytes"].growth.per_step
    count = evidence.ledger.find("leak.tensors")
    storages = max(count.growth.per_step, 0.0) if count is not None else 0.0
    wrappers = policy.python_bytes_beside_tensor * storages
    kept = []
    for claim in claims:
        beyond = _bytes(claim) - max(total, 0.0)
        if claim.metric == "heap.used" and (
            total >= policy.explained_share * _bytes(claim) or beyond <= wrappers + policy.least_bytes_per_step
        ):
            continue
        if claim.metric == "python.bytes" and _bytes(claim) <= wrappers:
            continue
        if claim.metric in ("mapped.private", "device.allocated"):
            continue
        kept.append(claim)
    return kept


def _python_or_heap(claims: list[Claim], evidence: Evidence, policy: Policy) -> list[Claim]:
    """Objects have their larger parts in the heap: both growing are one leak, under the name of the larger one."""
    heap = next((c for c in claims if c.metric == "heap.used"), None)
    python = next((c for c in claims if c.metric == "python.bytes"), None)
    if heap is None or python is None:
        return claims
    tensors = sum(_bytes(c) for c in claims if c.site is not None)
    smaller = heap if _bytes(python) >= _bytes(heap) - tensors else python
    return [c for c in claims if c is not smaller]
