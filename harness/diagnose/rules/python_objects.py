"""Python objects pile up; no tensor and no foreign memory among them."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_rate

__all__ = ["python_objects"]


def python_objects(case: Case) -> Opinion | None:
    """Asked of the interpreter's own memory, and of a heap that grows with a container."""
    container = case.container
    if case.suspect.metric not in ("python.bytes", "python.blocks") and container is None:
        return None
    if case.suspect.metric in ("fds", "threads", "children.count"):
        return None
    if container is None:
        return Opinion(
            cause="python_objects",
            explanation=(
                f"Python objects grow by {format_rate(case.rate('python.bytes'))} "
                f"({case.rate('python.blocks'):.3g} blocks a step), and no tensor with them{_types(case)}"
            ),
            fix="Look for a list, dict or registry that each step adds to: handlers, callbacks, logs, caches.",
        )
    where = f", at {case.kept_at}" if case.kept_at else ""
    element = f" of type {container.element}" if container.element else ""
    return Opinion(
        cause="python_objects",
        explanation=(
            f"{case.holder} went from {container.size_then:,} to {container.size_now:,} elements{element}{where}: "
            f"{container.per_step:.3g} a step"
        ),
        fix=(
            f"Bound {case.holder}, or empty it when it is written out; what is registered once a step belongs before "
            "the loop."
        ),
    )


def _types(case: Case) -> str:
    types = case.held.types[:3] if case.held is not None else ()
    if not types:
        return ""
    return "; more of them: " + ", ".join(f"{t.name} ({t.then:,} to {t.now:,})" for t in types)
