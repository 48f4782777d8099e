"""The throughput section: both halves of a scenario that says how many items a step has, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.report import RunReport
from harness.render.escaped import cut
from harness.render.view import ratio_words
from harness.units import format_bytes, format_throughput

__all__ = ["HEADINGS", "throughput_rows"]

HEADINGS = ("scenario", "variant", "items/s", "ratio (spread)", "bytes/item", "allocations/item")


def throughput_rows(runs: Sequence[RunReport]) -> list[tuple[str, ...]]:
    """One row a run that has items, in the order of :data:`HEADINGS`; the ratio stands in the row of ``fixed_step``."""
    rows: list[tuple[str, ...]] = []
    before = None
    for run in runs:
        speed = run.throughput
        if speed is None or speed.items_per_s is None:
            continue
        compared = run.variant == "fixed_step" and run.comparison is not None and run.comparison.throughput_ratio
        rows.append(
            (
                "" if run.path == before else cut(run.scenario, 64),
                run.variant,
                format_throughput(speed.items_per_s, "items").removesuffix(" items/s"),
                ratio_words(run.comparison) if compared and run.comparison is not None else "",
                format_bytes(speed.bytes_per_item) if speed.bytes_per_item is not None else "-",
                _few(speed.allocations_per_item),
            )
        )
        before = run.path
    return rows


def _few(count: float | None) -> str:
    return "-" if count is None else f"{count:.3g}"
