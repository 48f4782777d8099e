"""The line above a report: what its figures depend on."""

from __future__ import annotations

from harness.model.report import Report
from harness.render.escaped import cut

__all__ = ["heading"]


def heading(report: Report) -> str:
    """``torch-leak-harness 0.1.0 · Python 3.11.7 · torch 2.13.0 · Linux-6.8-x86_64 · 2 CPUs · seed 0``."""
    here = report.environment
    parts = (
        f"{report.tool.name} {report.tool.version}",
        f"Python {here.python}",
        f"torch {here.torch}" if here.torch else "without torch",
        cut(here.platform, 20),
        f"{here.cpu_count} CPUs",
        f"seed {here.seed}",
    )
    return " · ".join(cut(part, 40) for part in parts)
