"""An optimizer that is given ever new parameters: param_groups and state keep them, and a buffer or two for each."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["optimizer_state_growth"]


def optimizer_state_growth(case: Case) -> Opinion | None:
    """Asked of the state and the groups of an optimizer that grow."""
    path = case.path
    if path is None or path.suspect is None or path.grew is None:
        return None
    if not any(link.trait == "optimizer" for link in path.links[max(0, path.suspect - 2) : path.suspect + 1]):
        return None
    then, now = path.grew
    where = f" at {case.kept_at}" if case.kept_at else ""
    return Opinion(
        cause="optimizer_state_growth",
        explanation=f"{case.holder} went from {then:,} to {now:,} entries{where}: parameters come in and none leaves",
        fix=(
            "Make the optimizer anew when the parameters change, or delete the old ones from param_groups and "
            "optimizer.state; change parameters in place (under no_grad) instead of replacing them."
        ),
    )
