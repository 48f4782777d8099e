"""Noise, windows, warm-up, steadiness and slowing: what else is asked of a series."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.noise import local_noise
from harness.stats.slowing import filling_time_ratio, slowing
from harness.stats.steadiness import forward_share, one_way_share
from harness.stats.warmup import settled_from
from harness.stats.windows import block_medians, blocks, peaks_rising

STEPS = np.arange(400.0)


def test_noise_is_measured_beside_a_trend() -> None:
    values = 1000 * STEPS + np.random.default_rng(0).normal(0, 50, 400)

    assert local_noise(STEPS, values, slope=1000) == pytest.approx(50, rel=0.2)


def test_rare_high_peaks_are_no_noise() -> None:
    values = 600 * STEPS + np.where(STEPS % 32 < 3, 6e7, 0)

    assert local_noise(STEPS, values, slope=600) < 1


def test_blocks_cover_everything_and_only_the_first_is_short() -> None:
    found = blocks(29, 4)

    assert [(b.start, b.stop) for b in found] == [(0, 5), (5, 13), (13, 21), (21, 29)]
    assert blocks(0, 4) == []


def test_block_medians_leave_a_short_series_alone() -> None:
    x, y = block_medians(STEPS[:5], STEPS[:5] ** 2, 12)

    assert (x.tolist(), y.tolist()) == ([0, 1, 2, 3, 4], [0, 1, 4, 9, 16])


def test_a_saw_tooth_rises_in_its_first_period_only() -> None:
    assert peaks_rising(STEPS, STEPS % 50, 0.5).max() == 49


def test_a_rise_within_the_tolerance_is_none() -> None:
    assert peaks_rising(STEPS, STEPS // 100, 1.5).tolist() == [200]


def test_warm_up_ends_with_the_last_start_up_rise() -> None:
    values = np.where(STEPS < 6, 1e6 * STEPS, 5e6)

    assert settled_from(STEPS, values, least=100, most=48) == 5


def test_growth_is_no_warm_up() -> None:
    assert settled_from(STEPS, 1e6 * STEPS, least=100, most=48) == 0


def test_a_fill_that_goes_on_beyond_the_first_part_is_no_warm_up() -> None:
    assert settled_from(STEPS, 1e6 * np.minimum(STEPS, 150), least=100, most=48) == 0


def test_rises_too_small_to_matter_are_no_warm_up() -> None:
    assert settled_from(STEPS, np.minimum(STEPS, 5), least=100, most=48) == 0


def test_random_keys_fill_a_cache_ever_more_slowly() -> None:
    found = slowing(STEPS, 1e6 * (1 - np.exp(-STEPS / 200)))

    assert found.p < 1e-4
    assert found.end_share < 0.3


def test_a_straight_line_does_not_slow_down() -> None:
    found = slowing(STEPS, 4096 * STEPS)

    assert found.p == 1
    assert found.end_share == pytest.approx(1)


def test_a_line_goes_forward_all_the_time_and_a_plateau_does_not() -> None:
    assert forward_share(STEPS) == 1
    assert forward_share(np.minimum(STEPS, 100)) < 0.4


def test_a_saw_tooth_with_a_rest_goes_forward_by_its_lowest_values() -> None:
    assert forward_share(STEPS + 40 * (STEPS % 30)) == 1


def test_what_comes_back_goes_no_way() -> None:
    assert one_way_share(STEPS) == 1
    assert one_way_share(np.array([0.0, 5, 0])) == 0
    assert one_way_share(np.ones(9)) == 0


def test_a_straight_fill_and_one_that_dies_away_end_differently() -> None:
    assert filling_time_ratio(STEPS, np.minimum(STEPS, 100)) == pytest.approx(1.9)
    assert filling_time_ratio(STEPS, 1 - np.exp(-STEPS / 50)) > 4
    assert filling_time_ratio(STEPS, np.where(STEPS > 30, 1.0, 0.0)) == 1
    assert filling_time_ratio(STEPS, np.ones(400)) == 1
