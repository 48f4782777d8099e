"""The gradient table: how each parameter's gradient went, epoch by epoch, in numbers and in one word.

The rule, in this order, over a parameter's norms n (one an epoch, the mean over its steps):

- **exploding**: a gradient was not finite, or the last third's median is 100 times the first third's, or each of the
  last four epochs is at least 1.5 times the one before.
- **spike**: one epoch is 10 times the median of the four before it, and 10 times that of the four after it.
- **vanishing**: in the first third its norm is at most 1/10,000 of the largest in the model, or 0 where another's is
  not: what it learns from is lost on the way. A vector is only compared so where its layer's weight vanishes as well
  (or a model has nothing else): the bias before a normalisation has nothing to learn, and that is right.
- **converged**: it ends at most 1/1,000 of where it began, or all of the model's are 0.
- **healthy** otherwise.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Iterable, Sequence

import torch

from harness.gradients.values import values_of
from harness.model.gradients import GradientRow, GradientTable, ParameterGradients, Trend

__all__ = ["TableBuilder", "trend_of"]

_MOST_EPOCHS = 4096
_MOST_TOLD = 16
_EXPLODING, _STEEP, _STEEP_EPOCHS, _SPIKE, _VANISHING, _CONVERGED = 100.0, 1.5, 4, 10.0, 1e-4, 1e-3


class TableBuilder:
    """Collects gradients as they are before each update. An epoch is what lies between two :meth:`end_epoch`."""

    def __init__(self) -> None:
        self._epoch = 0
        self._rows: dict[str, list[GradientRow]] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._now: dict[str, list[GradientRow]] = {}

    def add(self, name: str, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """One step's *gradient* of *parameter*."""
        values = values_of(gradient)
        if values is None or not values.numel():
            return
        values = values.abs() if values.is_complex() else values
        values = values.double() if values.element_size() < 8 else values
        finite = torch.isfinite(values)
        count = int(finite.sum())
        kept = values if count == values.numel() else values[finite]
        weight = parameter.detach().abs().double().square().sum().sqrt().item() if not parameter.is_sparse else 0.0
        norm = _bounded(kept.square().sum().sqrt().item()) if count else 0.0
        self._shapes[name] = tuple(parameter.shape)
        self._now.setdefault(name, []).append(
            GradientRow(
                epoch=self._epoch,
                norm=norm,
                mean=_bounded(kept.mean().item()) if count else 0.0,
                zero_share=int((values == 0).sum()) / values.numel(),
                non_finite=values.numel() - count,
                to_weight=_bounded(norm / weight) if weight and weight == weight else None,
            )
        )

    def end_epoch(self) -> None:
        """What was added since the last call is one epoch."""
        if not self._now:
            return
        for name, rows in self._now.items():
            kept = self._rows.setdefault(name, [])
            if len(kept) < _MOST_EPOCHS:
                kept.append(_mean_row(rows))
        self._now = {}
        self._epoch += 1

    def growth_of(self, name: str) -> str | None:
        """``5.2-fold in each of the last 8 epochs`` where the norm of *name* has grown steadily, else None."""
        norms = [row.norm for row in self._rows.get(name, ())][-8:]
        factors = [after / before for before, after in itertools.pairwise(norms) if before > 0]
        if len(factors) < _STEEP_EPOCHS or min(factors) <= 1:
            return None
        return f"{statistics.geometric_mean(factors):.3g}-fold in each of the last {len(factors)} epochs"

    def table(self) -> GradientTable | None:
        """All that was seen, an epoch that has not ended left out."""
        if not self._rows:
            return None
        trends = self._trends()
        return GradientTable(
            epochs=self._epoch,
            parameters=tuple(
                ParameterGradients(name=name, shape=self._shapes[name], trend=trends[name], rows=_thinned(rows))
                for name, rows in self._rows.items()
            ),
        )

    def _trends(self) -> dict[str, Trend]:
        """Weights first: a vector is compared with the model's largest only where its layer's weight vanishes too."""
        largest = _largest(self._rows.values())
        others = any(norm > 0 for norm in largest)
        weights = {name for name, shape in self._shapes.items() if len(shape) > 1} or set(self._shapes)
        found = {name: trend_of(self._rows[name], largest, others=others) for name in self._rows if name in weights}
        lost = {name.rpartition(".")[0] for name, trend in found.items() if trend == "vanishing"}
        for name, rows in self._rows.items():
            if name not in found:
                compared = largest if name.rpartition(".")[0] in lost else ()
                found[name] = trend_of(rows, compared, others=others)
        return found


def trend_of(rows: Sequence[GradientRow], largest: Sequence[float], *, others: bool = False) -> Trend:
    """The word for *rows*; *largest* is the largest norm in the model, epoch by epoch (nothing: not to be compared);
    *others*: whether any parameter's is more than 0."""
    norms = [row.norm for row in rows]
    if any(row.non_finite for row in rows) or _explodes(norms):
        return "exploding"
    if any(_stands_out(norms, i) for i in range(2, len(norms) - 1)):
        return "spike"
    early = max(1, len(norms) // 3)
    ratios = [norm / most for norm, most in zip(norms[:early], largest[:early], strict=False) if most > 0]
    if (ratios and statistics.median(ratios) <= _VANISHING) or (not any(norms) and others):
        return "vanishing"
    return "converged" if norms[-1] <= _CONVERGED * max(norms[:early]) else "healthy"


def _bounded(number: float) -> float:
    """A sum of squares of large doubles may overflow, and JSON has no word for infinity."""
    return min(max(number, -sys.float_info.max), sys.float_info.max)


def _stands_out(norms: Sequence[float], i: int) -> bool:
    around = statistics.median(norms[max(0, i - 4) : i]), statistics.median(norms[i + 1 : i + 5])
    return norms[i] > _SPIKE * max(around) > 0


def _explodes(norms: Sequence[float]) -> bool:
    third = max(1, len(norms) // 3)
    if len(norms) < _STEEP_EPOCHS + 1:
        return False
    before, after = statistics.median(norms[:third]), statistics.median(norms[-third:])
    last = norms[-_STEEP_EPOCHS - 1 :]
    steep = all(b > 0 and a >= _STEEP * b for b, a in itertools.pairwise(last))
    return (before > 0 and after >= _EXPLODING * before) or steep


def _largest(rows: Iterable[Sequence[GradientRow]]) -> list[float]:
    """The largest norm in each epoch."""
    largest: list[float] = []
    for own in rows:
        for i, row in enumerate(own):
            if i == len(largest):
                largest.append(row.norm)
            else:
                largest[i] = max(largest[i], row.norm)
    return largest


def _mean_row(rows: Sequence[GradientRow]) -> GradientRow:
    ratios = [row.to_weight for row in rows if row.to_weight is not None]
    return GradientRow(
        epoch=rows[0].epoch,
        norm=statistics.fmean(row.norm for row in rows),
        mean=statistics.fmean(row.mean for row in rows),
        zero_share=statistics.fmean(row.zero_share for row in rows),
        non_finite=sum(row.non_finite for row in rows),
        to_weight=statistics.fmean(ratios) if ratios else None,
    )


def _thinned(rows: Sequence[GradientRow]) -> tuple[GradientRow, ...]:
    count = len(rows)
    stride = max(1, -(-count // _MOST_TOLD))
    return tuple(rows[k] for k in sorted({*range(0, count, stride), count - 1}))
