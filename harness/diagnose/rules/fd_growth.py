"""Files, sockets or pipes that are opened and never closed."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["fd_growth"]


def fd_growth(case: Case) -> Opinion | None:
    """Asked of the number of open descriptors."""
    if case.suspect.metric != "fds":
        return None
    return Opinion(
        cause="fd_growth",
        explanation=(
            f"each step leaves {case.suspect.growth.per_step:.3g} descriptor(s) open{case.and_keeper or case.at_line}"
        ),
        fix="Open files in a with block, or close them where they are dropped; a lazy archive keeps its file open.",
    )
