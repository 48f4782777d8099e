"""Claims to suspects: what is one leak becomes one, the biggest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.judge.assessment import Evidence
from harness.judge.policy import Policy
from harness.judge.witnesses import Claim
from harness.model.series import Growth
from harness.model.verdict import Suspect

__all__ = ["suspects_of"]

_COUNTS = ("children.count", "threads", "fds")
_SHARED = ("shm.bytes", "rss.shared")
_OBJECTS = ("heap.used", "python.bytes")

Claims = list[Claim]


def suspects_of(claims: Sequence[Claim], evidence: Evidence, policy: Policy) -> tuple[Suspect, ...]:
    """Children, threads and descriptors first, for they explain the memory that comes with them; then the rest by
    bytes. Tensors give one suspect a site: several may be one leak, which their holder tells. A suspect of another
    channel has a site where the tensors of that site are the same leak, seen from there."""
    left = list(claims)
    for explain in _EXPLANATIONS:
        left = explain(left, evidence, policy)
    order = sorted(left, key=lambda c: (c.metric not in _COUNTS, -_rate(c)))
    return tuple(
        Suspect(
            metric=c.metric,
            growth=c.own_growth or c.movement.growth,
            site=c.site,
            site_growth=c.site_movement.growth if c.site_movement is not None else None,
            in_uncollected=c.in_uncollected,
        )
        for c in order
    )


def _rate(claim: Claim) -> float:
    """Bytes a step that are this claim's own."""
    if claim.metric == "leak.bytes" and claim.site_movement is not None:
        return claim.site_movement.growth.per_step
    return (claim.own_growth or claim.movement.growth).per_step


def _tensor_claims(claims: Claims) -> Claims:
    return [c for c in claims if c.metric == "leak.bytes"]


def _tensor_rate(evidence: Evidence, metric: str = "leak.bytes") -> float:
    found = evidence.ledger.find(metric) if evidence.ledger is not None else None
    return max(found.growth.per_step, 0.0) if found is not None else 0.0


def _with_site(claim: Claim, tensors: Claims) -> Claim:
    """*claim*, at the site that its largest tensors come from."""
    largest = max(tensors, key=_rate, default=None)
    if largest is None:
        return claim
    return replace(claim, site=largest.site, site_movement=largest.site_movement)


def _by_counts(claims: Claims, evidence: Evidence, policy: Policy) -> Claims:
    """A thread, a descriptor or a child brings heap, objects and mappings along."""
    counts = [c for c in claims if c.metric in _COUNTS]
    if not counts:
        return claims
    owner = next(c for metric in _COUNTS for c in counts if c.metric == metric)
    allowance = policy.bytes_beside_count(owner.metric) * owner.movement.growth.per_step
    objects = sum(c.movement.growth.per_step for c in claims if c.metric in _OBJECTS) - _tensor_rate(evidence)
    return [
        c
        for c in claims
        if c is owner
        or c.metric == "leak.bytes"
        or (c.metric in _OBJECTS and objects > allowance)
        or (c.metric in _SHARED and owner.metric == "fds")
    ]


def _by_shared(claims: Claims, evidence: Evidence, policy: Policy) -> Claims:
    """Tensors in shared memory are one leak with it; so are the objects and the descriptors around them."""
    shared = next((c for c in claims if c.metric in _SHARED), None)
    if shared is None:
        return claims
    tensors, rate = _tensor_claims(claims), _tensor_rate(evidence)
    same = bool(tensors) and rate >= policy.explained_share * _rate(shared)
    least = max(policy.python_bytes_beside_tensor, (1 - policy.explained_share) * _rate(shared))
    kept = [c for c in claims if c.metric in _OBJECTS and _rate(c) > least]
    kept += [] if same and rate <= _rate(shared) / policy.explained_share else tensors
    return [_with_site(shared, tensors) if same else shared, *kept]


def _by_tensors(claims: Claims, evidence: Evidence, policy: Policy) -> Claims:
    """The heap's growth is the tensors' unless they explain too little of it; so are a few objects around each."""
    tensors = _tensor_claims(claims)
    if not tensors:
        return claims
    rate, storages = _tensor_rate(evidence), _tensor_rate(evidence, "leak.tensors")
    wrappers = policy.python_bytes_beside_tensor * storages
    share = policy.explained_share_of_graph if _is_graph(tensors, evidence) else policy.explained_share
    kept: Claims = []
    for claim in claims:
        if claim.metric in ("mapped.private", "device.allocated"):
            continue
        if claim.metric == "python.bytes" and _rate(claim) <= wrappers:
            continue
        if claim.metric == "heap.used":
            beyond = _rate(claim) - rate
            if rate >= share * _rate(claim) or beyond <= wrappers + policy.least_bytes_per_step:
                continue
            if rate <= policy.small_views_share * _rate(claim):
                return [_with_site(claim, tensors), *(c for c in claims if c not in tensors and c is not claim)]
            claim = replace(claim, own_growth=_less(claim.movement.growth, rate))
        kept.append(claim)
    return kept


def _is_graph(tensors: Claims, evidence: Evidence) -> bool:
    """Autograd nodes come with its tensors, and are as large: they are heap, and no leak of their own."""
    held = any(c.site is not None and c.site.storages and 2 * c.site.in_graph > c.site.storages[-1] for c in tensors)
    return held or (evidence.ledger is not None and evidence.ledger.grows("graph.nodes"))


def _less(growth: Growth, rate: float) -> Growth:
    return Growth(
        per_step=growth.per_step - rate,
        low=growth.low - rate,
        high=growth.high - rate,
        unit=growth.unit,
        trend=growth.trend,
    )


def _python_or_heap(claims: Claims, evidence: Evidence, policy: Policy) -> Claims:
    """Objects have their larger parts in the heap: both growing are one leak, under the name of the larger one."""
    both = [c for c in claims if c.metric in _OBJECTS]
    if len(both) < 2:
        return claims
    smaller = min(both, key=_rate)
    return [c for c in claims if c is not smaller]


Explanation = Callable[[Claims, Evidence, Policy], Claims]
_EXPLANATIONS: tuple[Explanation, ...] = (_by_counts, _by_shared, _by_tensors, _python_or_heap)
