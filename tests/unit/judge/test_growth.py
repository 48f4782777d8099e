"""One series to one word."""

from __future__ import annotations

import numpy as np
import pytest

from harness.judge.growth import Movement, movement_of_series
from harness.judge.policy import DEFAULT
from tests.builders import MIB, fills, flat, jumps, line, saw_tooth, series, stairs


def moved(metric: str, values: list[float], every: int = 1) -> Movement:
    return movement_of_series(series(metric, values, every=every), DEFAULT, start=7)


def noise(steps: int, std: float, seed: int = 0) -> list[float]:
    return [float(v) for v in np.random.default_rng(seed).normal(0, std, steps + 1)]


def test_a_straight_line_grows_by_its_slope() -> None:
    found = moved("heap.used", line(208, 4096))

    assert found.grows
    assert (found.growth.per_step, found.growth.low, found.growth.high) == (4096, 4096, 4096)


def test_nothing_that_moves_is_flat() -> None:
    assert moved("heap.used", flat(208)).growth.trend == "flat"


@pytest.mark.parametrize("every", [2, 3, 7, 10])
def test_a_leak_in_each_few_steps_grows(every: int) -> None:
    found = moved("leak.tensors", stairs(208, every, rise=1, start=3))

    assert found.grows
    assert found.growth.per_step == pytest.approx(1 / every, rel=0.1)


@pytest.mark.parametrize("until", [24, 40, 50, 100, 300])
def test_a_buffer_that_filled_is_bounded(until: int) -> None:
    found = moved("heap.used", fills(408, until, per_step=80_000))

    assert found.growth.trend == "bounded"
    assert found.last_rise == until - 1
    assert found.growth.per_step == 0


def test_a_buffer_that_filled_a_moment_ago_is_not_yet_certain() -> None:
    assert moved("leak.bytes", fills(208, 195)).doubtful


def test_a_saw_tooth_is_no_growth() -> None:
    for period in (2, 5, 20, 39, 97):
        assert not moved("heap.used", saw_tooth(408, period, per_step=200_000)).grows


def test_one_late_jump_is_no_growth() -> None:
    for at in (10, 60, 150, 201):
        assert not moved("heap.used", jumps(208, at)).grows


def test_growth_is_seen_under_noise_of_64_times_its_size() -> None:
    values = [a + b for a, b in zip(line(408, 4096), noise(408, 0.25 * MIB), strict=True)]

    found = moved("heap.used", values)

    assert found.grows
    assert found.growth.low <= 4096 <= found.growth.high


def test_noise_alone_does_not_grow() -> None:
    for seed in range(40):
        assert not moved("heap.used", [5e7 + v for v in noise(408, 0.25 * MIB, seed)]).grows


def test_growth_below_the_least_effect_is_flat() -> None:
    assert moved("heap.used", line(408, 120)).growth.trend == "flat"


def test_exact_tensor_bytes_have_hardly_a_least_effect() -> None:
    assert moved("leak.bytes", line(208, 4)).grows


def test_readings_with_gaps_are_judged_like_others() -> None:
    assert moved("python.bytes", line(208, 700), every=4).growth.per_step == pytest.approx(700)


def test_too_few_readings_say_nothing() -> None:
    found = moved("children.bytes", line(40, 1e6), every=8)

    assert (found.growth.trend, found.doubtful) == ("noisy", True)


def test_a_cache_of_random_keys_slows_down() -> None:
    keys = np.random.default_rng(5).integers(400, size=409)
    seen = [4096.0 * len(set(keys[: k + 1])) for k in range(409)]

    assert moved("leak.bytes", seen).slowing


def test_a_fast_start_does_not_enter_the_slope_of_what_goes_on() -> None:
    values = [a + b for a, b in zip(line(408, 5000), fills(408, 60, per_step=500_000, start=0), strict=True)]

    found = moved("heap.used", values)

    assert found.grows
    assert found.growth.per_step == pytest.approx(5000)


def test_shrinking_is_not_growing() -> None:
    assert moved("heap.used", line(208, -4096)).growth.trend == "flat"


def test_a_slow_leak_behind_a_large_fill_grows() -> None:
    values = [a + b for a, b in zip(line(808, 1500), fills(808, 350, per_step=500_000, start=0), strict=True)]

    found = moved("heap.used", values)

    assert (found.grows, found.after_fill) == (True, True)
    assert found.growth.per_step == pytest.approx(1500)


def test_the_end_of_a_fill_with_random_keys_is_no_leak_behind_it() -> None:
    keys = np.random.default_rng(6).integers(150, size=409)
    seen = [1e6 * len(set(keys[: k + 1])) for k in range(409)]

    found = moved("heap.used", seen)

    assert (found.slowing, found.after_fill) == (True, False)


@pytest.mark.parametrize("per_step", [600, 3000])
def test_a_leak_that_starts_late_is_worth_more_steps(per_step: float) -> None:
    values = [5e7 + per_step * max(0, k - 100) for k in range(129)]

    found = moved("heap.used", values)

    assert (found.grows, found.doubtful) == (False, True)


def test_rises_that_have_become_rare_are_no_growth_although_a_jump_came_late() -> None:
    values = [a + b for a, b in zip(fills(408, 300, 80_000), jumps(408, 380, MIB, start=0), strict=True)]

    found = moved("heap.used", values)

    assert (found.growth.trend, found.doubtful) == ("bounded", True)


def test_a_random_walk_is_rarely_growth() -> None:
    rng = np.random.default_rng(7)
    walks = [5e7 + np.cumsum(rng.normal(0, 1e5, 409)) for _ in range(200)]

    assert sum(moved("heap.used", walk.tolist()).grows for walk in walks) <= 10
