"""A run's figures for machines that compare them from one day to the next: names, units, exact values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from harness.model.metric import METRICS
from harness.model.report import RunReport
from harness.render.escaped import cut

__all__ = ["Figure", "exact_figures", "labels_of", "noisy_figures", "plain_number"]

_METRICS = {metric.name: metric for metric in METRICS}
_LONGEST_LABEL = 120
_NO_STOCK = ("peak.tensors", "allocations.step", "gradient.norm")
"""Metrics of a step on its own: how they move from step to step says nothing that the others do not."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number: the metric table's name (``.per_step`` after it where it is its growth), unit and value.

    ``low`` and ``high`` bound it where that is known; ``device`` says where the bytes are.
    """

    metric: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    device: str | None = None


def exact_figures(run: RunReport) -> Iterator[Figure]:
    """What is the same number in every run of the same program: growth of exact metrics, peaks, allocations."""
    for name in sorted(run.growth):
        if name in _METRICS and _METRICS[name].exact and name not in _NO_STOCK:
            growth = run.growth[name]
            yield from _finite(f"{name}.per_step", f"{growth.unit}/step", growth.per_step)
    for device in sorted(run.peak_bytes):
        shown = cut(device, _LONGEST_LABEL)
        yield from _finite("peak.tensors", "bytes", run.peak_bytes[device], device=shown)
    if run.allocations_per_step is not None:
        yield from _finite("allocations.step", "count", run.allocations_per_step)


def noisy_figures(run: RunReport) -> Iterator[Figure]:
    """What differs from run to run and from machine to machine: items a second, and the ratio of the two halves."""
    speed = run.throughput
    if speed is not None and speed.items_per_s is not None:
        items = speed.items_per_s
        yield from _finite("throughput.items", "items/s", items, low=items * speed.low, high=items * speed.high)
    compared = run.comparison
    if compared is not None and compared.throughput_ratio is not None and run.variant == "fixed_step":
        low, high = compared.throughput_low, compared.throughput_high
        yield from _finite("throughput.ratio", "ratio", compared.throughput_ratio, low=low, high=high)


def labels_of(runs: Sequence[RunReport]) -> tuple[dict[str, str], ...]:
    """What tells each run from all others: scenario and variant, and more only where these are not enough."""
    told = [_labels(run) for run in runs]
    for extra in ("path", "number"):
        often = Counter(tuple(labels.items()) for labels in told)
        seen: Counter[tuple[tuple[str, str], ...]] = Counter()
        for labels, run in zip(told, runs, strict=True):
            key = tuple(labels.items())
            seen[key] += 1
            if often[key] > 1:
                labels[extra] = cut(run.path, _LONGEST_LABEL) if extra == "path" else str(seen[key])
    return tuple(told)


def plain_number(value: float) -> str:
    """``16384``, ``62.5``: a whole number without a point, no digit lost."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**63 else repr(float(value))


def _labels(run: RunReport) -> dict[str, str]:
    labels = {"scenario": cut(run.scenario, _LONGEST_LABEL), "variant": run.variant}
    if run.subject.rank is not None:
        labels["rank"] = str(run.subject.rank)
    if run.subject.worker is not None:
        labels["worker"] = str(run.subject.worker)
    return labels


def _finite(
    metric: str,
    unit: str,
    value: float,
    *,
    low: float | None = None,
    high: float | None = None,
    device: str | None = None,
) -> Iterator[Figure]:
    """The figure, unless it is no number: neither JSON nor a chart has a place for one."""
    bounded = low is not None and high is not None and math.isfinite(low) and math.isfinite(high)
    if math.isfinite(value):
        low, high = (low, high) if bounded else (None, None)
        yield Figure(metric=metric, unit=unit, value=value, low=low, high=high, device=device)
