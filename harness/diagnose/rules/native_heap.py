"""Memory that C or C++ code allocated and nobody in Python or torch owns."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_rate

__all__ = ["native_heap"]


def native_heap(case: Case) -> Opinion | None:
    """Asked last, of a heap that grows without tensors and without Python objects."""
    if case.suspect.metric not in ("heap.used", "mapped.private", "rss.anon"):
        return None
    if case.held is not None and case.held.profilers:
        return Opinion(
            cause="native_heap",
            explanation=(
                f"{format_rate(case.suspect.growth.per_step)} of native memory stays in use, and the profiler "
                f"{case.holder} is running: it keeps an event for each operator until it is stopped"
            ),
            fix=(
                f"Stop it ({case.holder}.stop(), or a with block); for a long run give it a schedule(wait, warmup, "
                "active, repeat) and a trace handler, and call its step()."
            ),
        )
    return Opinion(
        cause="native_heap",
        explanation=(
            f"{format_rate(case.suspect.growth.per_step)} of native memory stays in use; no live tensor and no Python "
            "object accounts for it"
        ),
        fix="Look for a C call whose result must be freed, a handle that must be closed, a profiler left running.",
    )
