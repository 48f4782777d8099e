"""Throughput, from the report of the scenario that compares one sample at a time with batches."""

from __future__ import annotations

import re

from tests.acceptance.bundled import Done


def test_batches_are_told_with_items_their_ratio_their_cost_and_where_they_stop_paying(done: Done) -> None:
    step, fixed = (done.told("batch_against_single", variant) for variant in ("step", "fixed_step"))

    single, batch = step["throughput"], fixed["throughput"]
    assert batch["items_per_s"] > 4 * single["items_per_s"]
    comparison = fixed["comparison"]
    assert comparison["throughput_low"] <= comparison["throughput_ratio"] <= comparison["throughput_high"]
    # One result of 8 numbers a sample, whichever way: alone they take their turns, together they are all alive at once.
    assert (single["allocations_per_item"], batch["allocations_per_item"]) == (1.0, 1 / 128)
    assert batch["bytes_per_item"] == 8 * 4
    sizes = [int(size) for size in re.findall(r"batch of (\d+): [\d,]+ items/s", step["stdout"])]
    assert sizes == [2**k for k in range(11)]
    assert int(re.findall(r"from (\d+) on, more hardly pays", step["stdout"])[0]) in sizes
