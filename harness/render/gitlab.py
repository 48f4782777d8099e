"""Exact figures as OpenMetrics text, for GitLab's ``artifacts:reports:metrics`` and for Prometheus.

GitLab compares the values of two branches as text, and shows what changed: noisy figures would change every time, so
only exact ones are here (https://docs.gitlab.com/ci/testing/metrics_reports). The format:
https://prometheus.io/docs/specs/om/open_metrics_spec/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import get_args

from harness.model.metric import METRICS
from harness.model.report import Report
from harness.render.figures import exact_figures, labels_of, plain_number
from harness.render.view import Standing, standing

__all__ = ["render"]

_TITLES = {metric.name: metric.title for metric in METRICS}


def render(report: Report) -> str:
    """One family a metric, ``harness_peak_tensors`` and so on; labels scenario and variant; ``# EOF`` last."""
    families: dict[str, list[str]] = {}
    for run, labels in zip(report.runs, labels_of(report.runs), strict=True):
        for figure in exact_figures(run):
            more = labels if figure.device is None else {**labels, "device": figure.device}
            families.setdefault(figure.metric, []).append(f"{_labelled(more)} {plain_number(figure.value)}")
    lines: list[str] = []
    for metric in sorted(families):
        name = f"harness_{metric.replace('.', '_')}"
        grows = metric.endswith(".per_step")
        title = _TITLES[metric.removesuffix(".per_step")]
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {title}{', growth a step' if grows else ''}"]
        lines += [f"{name}{sample}" for sample in families[metric]]
    return "\n".join((*lines, *_counts(report), "# EOF", ""))


def _counts(report: Report) -> list[str]:
    counts = Counter(standing(run) for run in report.runs)
    lines = ["# TYPE harness_runs gauge", "# HELP harness_runs runs by how they count"]
    lines += [f"{_named('harness_runs', {'standing': word})} {counts[word]}" for word in get_args(Standing)]
    lines += ["# TYPE harness_missing gauge", "# HELP harness_missing what was asked for and is not in these figures"]
    missing = {
        "not_found": len(report.problems),
        "errors": len(report.errors),
        "interrupted": int(report.interrupted),
    }
    return lines + [f"{_named('harness_missing', {'because': why})} {count}" for why, count in missing.items()]


def _named(name: str, labels: Mapping[str, str]) -> str:
    return name + _labelled(labels)


def _labelled(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inside}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
