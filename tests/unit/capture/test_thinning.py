"""Long series stay small, and nothing that matters is lost."""

from __future__ import annotations

from harness.capture.thinning import SeriesBuilder


def built(values: list[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    builder = SeriesBuilder("heap.used")
    for step, value in enumerate(values):
        builder.add(step, value)
    series = builder.build()
    return series.steps, series.values


def test_a_short_series_is_kept_as_it_is() -> None:
    steps, values = built([5.0, 6.0, 7.0])

    assert steps == (0, 1, 2)
    assert values == (5.0, 6.0, 7.0)


def test_a_million_readings_take_at_most_4096_places() -> None:
    steps, _ = built([float(k % 7) for k in range(1_000_000)])

    assert len(steps) <= 4096
    assert list(steps) == sorted(set(steps))


def test_one_spike_and_one_dip_survive_any_thinning() -> None:
    readings = [100.0] * 200_000
    readings[77_777], readings[123_456] = 9000.0, 1.0

    steps, values = built(readings)

    assert dict(zip(steps, values, strict=True))[77_777] == 9000.0
    assert dict(zip(steps, values, strict=True))[123_456] == 1.0


def test_the_first_and_the_last_reading_stay() -> None:
    steps, values = built([float(k) for k in range(50_001)])

    assert (steps[0], values[0]) == (0, 0.0)
    assert (steps[-1], values[-1]) == (50_000, 50_000.0)
