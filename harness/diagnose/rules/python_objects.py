"""Python objects pile up; no tensor and no foreign memory among them."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_rate

__all__ = ["python_objects"]


def python_objects(case: Case) -> Opinion | None:
    """Asked of the interpreter's own memory."""
    if case.suspect.metric not in ("python.bytes", "python.blocks"):
        return None
    return Opinion(
        cause="python_objects",
        explanation=(
            f"Python objects grow by {format_rate(case.rate('python.bytes'))} "
            f"({case.rate('python.blocks'):.3g} blocks a step), and no tensor with them"
        ),
        fix="Look for a list, dict or registry that each step adds to: handlers, callbacks, logs, caches.",
    )
