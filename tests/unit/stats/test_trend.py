"""Robust slopes and the trend test."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.autocorrelation import variance_factor
from harness.stats.trend import rising_probability, robust_trend

STEPS = np.arange(100.0)


def test_a_straight_line_has_its_slope_and_no_interval() -> None:
    trend = robust_trend(STEPS, 7 + 3 * STEPS)

    assert (trend.slope, trend.low, trend.high, trend.intercept) == (3, 3, 3, 7)
    assert trend.p_rising < 1e-6


def test_a_quarter_of_wild_values_moves_the_slope_little() -> None:
    values = 3 * STEPS
    values[::4] += 1e6 * np.random.default_rng(0).random(25)

    assert robust_trend(STEPS, values).slope == pytest.approx(3, rel=0.1)


def test_the_interval_holds_the_true_slope_in_95_of_100_series() -> None:
    rng = np.random.default_rng(1)
    trends = [robust_trend(STEPS, 2 * STEPS + rng.normal(0, 50, 100)) for _ in range(400)]

    held = sum(t.low <= 2 <= t.high for t in trends)

    assert 370 <= held <= 390 + 8


def test_gaps_between_readings_do_not_matter() -> None:
    steps = np.array([0.0, 1, 5, 6, 20, 21, 22, 60])

    assert robust_trend(steps, 2 * steps).slope == 2


def test_a_constant_series_has_no_trend() -> None:
    trend = robust_trend(STEPS, np.ones(100))

    assert (trend.slope, trend.p_rising) == (0, 1)


def test_a_falling_series_is_certainly_not_rising() -> None:
    assert robust_trend(STEPS, -STEPS).p_rising > 0.999


def test_the_trend_test_is_wrong_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)

    found = sum(rising_probability(rng.normal(size=40)) <= 0.05 for _ in range(2000))

    assert 70 <= found <= 130


def test_a_slow_wander_is_less_of_a_trend_than_independent_noise_would_make_it() -> None:
    rng = np.random.default_rng(3)
    wander = np.cumsum(rng.normal(size=200))
    residuals = wander - robust_trend(np.arange(200.0), wander).slope * np.arange(200.0)

    assert variance_factor(residuals) > 10
    assert variance_factor(rng.normal(size=200)) < 3


def test_a_long_series_is_reduced_before_all_pairs_are_formed() -> None:
    steps = np.arange(4000.0)

    trend = robust_trend(steps, 5 * steps)

    assert trend.points <= 400
    assert trend.slope == pytest.approx(5)


def test_one_point_has_no_slope() -> None:
    with pytest.raises(ValueError, match="two points, and there are 1"):
        robust_trend(np.array([1.0]), np.array([1.0]))
