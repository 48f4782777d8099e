"""Figures in Bencher Metric Format: a benchmark a run, a measure a metric, with bounds where they are known.

Which way is better is set in Bencher, with each measure's threshold
(https://bencher.dev/docs/reference/bencher-metric-format).
"""

from __future__ import annotations

from harness.model.codec import encode_json
from harness.model.report import Report, RunReport
from harness.render.figures import Figure, exact_figures, labels_of, noisy_figures

__all__ = ["render"]

_LONGEST_MEASURE = 64


def render(report: Report) -> str:
    """JSON: ``{"train · step": {"peak-tensors-cpu": {"value": 32768}}}``; runs without a figure are left out."""
    told = zip(report.runs, labels_of(report.runs), strict=True)
    benchmarks = {" · ".join(labels.values()): _measures(run) for run, labels in told}
    return encode_json({name: measures for name, measures in benchmarks.items() if measures}).decode()


def _measures(run: RunReport) -> dict[str, dict[str, float]]:
    return {_slug(figure): _values(figure) for figure in (*exact_figures(run), *noisy_figures(run))}


def _slug(figure: Figure) -> str:
    """Lower case, digits and dashes: Bencher makes a measure of any name, but its addresses need these."""
    name = figure.metric if figure.device is None else f"{figure.metric}-{figure.device}"
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
    return plain[:_LONGEST_MEASURE].strip("-")


def _values(figure: Figure) -> dict[str, float]:
    values = {"value": figure.value}
    if figure.low is not None and figure.high is not None:
        values |= {"lower_value": figure.low, "upper_value": figure.high}
    return values
