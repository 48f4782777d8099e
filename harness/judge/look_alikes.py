"""Why memory that grew is no leak: the reasons that a recording shows, each with its bytes and its evidence."""

from __future__ import annotations

from collections.abc import Callable

from harness.judge.assessment import Evidence
from harness.judge.elsewhere import copied_pages, page_cache, retained_by_allocator, steady_churn
from harness.judge.plateaus import bounded_cache, one_time_allocation, periodic_peak, shape_cache, warm_up
from harness.judge.policy import Policy
from harness.model.verdict import LookAlike

__all__ = ["LOOK_ALIKE_RULES", "look_alikes"]

Rule = Callable[[Evidence, Policy], LookAlike | None]

LOOK_ALIKE_RULES: tuple[Rule, ...] = (
    bounded_cache,
    shape_cache,
    one_time_allocation,
    warm_up,
    periodic_peak,
    copied_pages,
    retained_by_allocator,
    page_cache,
)
"""In the order in which they explain most; ``late_collection`` needs a subject of its own and comes before them."""


def look_alikes(evidence: Evidence, policy: Policy, *, leaks: bool) -> tuple[LookAlike, ...]:
    """All that apply; churn only where there is nothing else to tell."""
    if evidence.main is None or not evidence.main.sound:
        return ()
    told = tuple(found for rule in LOOK_ALIKE_RULES if (found := rule(evidence, policy)) is not None)
    churn = steady_churn(evidence, policy) if not told and not leaks else None
    return told if churn is None else (churn,)
