"""How the gradients went, in words and as the lines of a table."""

from __future__ import annotations

from harness.model.gradients import GradientTable, ParameterGradients
from harness.render.escaped import cut

__all__ = ["ALARMING", "gradient_lines", "gradient_words"]

ALARMING = frozenset({"exploding", "spike", "vanishing"})
"""The words that are told of a run that ended as expected."""

_MOST_NAMES = 3
_MOST_LINES = 12
_WORST_FIRST = ("exploding", "spike", "vanishing", "converged", "healthy")


def gradient_words(table: GradientTable) -> str:
    """``over 200 steps: 2 vanishing (net.0.weight, net.2.weight), 6 healthy``."""
    told = []
    for trend in _WORST_FIRST:
        names = [parameter.name for parameter in table.parameters if parameter.trend == trend]
        if not names:
            continue
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        listed = f" ({', '.join(cut(name, 60) for name in names[:_MOST_NAMES])}{more})" if trend != "healthy" else ""
        told.append(f"{len(names)} {trend}{listed}")
    steps = "step" if table.epochs == 1 else "steps"
    return f"over {table.epochs:,} {steps}: {', '.join(told)}"


def gradient_lines(table: GradientTable) -> tuple[str, ...]:
    """One line a parameter, in the program's own order, under a heading; of many, the worst."""
    kept = list(table.parameters)
    if len(kept) > _MOST_LINES:
        worst = sorted(kept, key=lambda parameter: _WORST_FIRST.index(parameter.trend))[:_MOST_LINES]
        kept = [parameter for parameter in kept if parameter in worst]
    rows: list[tuple[str, ...]] = [
        ("parameter", "trend", "first norm", "last norm", "to weight", "zeros", "not finite")
    ]
    rows += [_cells(parameter) for parameter in kept]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(_aligned(cell, widths[k], k) for k, cell in enumerate(row)).rstrip() for row in rows]
    left_out = len(table.parameters) - len(kept)
    return (*lines, *([f"and {left_out} more: --format json shows all"] if left_out else []))


def _cells(parameter: ParameterGradients) -> tuple[str, ...]:
    first, last = parameter.rows[0], parameter.rows[-1]
    return (
        cut(parameter.name, 40),
        parameter.trend,
        f"{first.norm:.3g}",
        f"{last.norm:.3g}",
        f"{last.to_weight:.2g}" if last.to_weight is not None else "-",
        f"{last.zero_share:.0%}",
        f"{sum(row.non_finite for row in parameter.rows):,}",
    )


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column < 2 else cell.rjust(width)
