"""Run on, or stop."""

from __future__ import annotations

import pytest

from harness.judge.policy import DEFAULT
from harness.judge.sequential import go_on
from harness.model.recording import Role, SubjectRecord
from tests.builders import fills, flat, ledger, line, saw_tooth, site, subject


def ran(
    measured: int, metric: str, values: list[float], *, role: Role = "plain", elapsed_s: float = 10
) -> SubjectRecord:
    steps = DEFAULT.warmup_steps + measured
    readings = {"heap.used": flat(steps), "fds": flat(steps, 9)} | {metric: values[: steps + 1]}
    return subject(role, readings, elapsed_s=elapsed_s)


def test_a_program_that_stands_still_may_stop_at_the_second_checkpoint() -> None:
    assert go_on(ran(48, "heap.used", flat(900)), DEFAULT) == "flat for only 48 steps"
    assert go_on(ran(120, "heap.used", flat(900)), DEFAULT) is None


def test_where_steps_cost_nothing_more_of_them_are_looked_at() -> None:
    assert go_on(ran(120, "heap.used", flat(900), elapsed_s=0.1), DEFAULT) == "steps are cheap"
    assert go_on(ran(200, "heap.used", flat(900), elapsed_s=0.1), DEFAULT) is None


def test_growing_memory_runs_to_its_horizon() -> None:
    values = line(900, 4096)

    assert go_on(ran(300, "heap.used", values)) == "C heap in use: still growing, a cache may still be filling"
    assert go_on(ran(400, "heap.used", values)) is None


def test_a_plateau_must_last_as_long_as_the_rise() -> None:
    values = fills(900, 128, 80_000)

    assert go_on(ran(200, "heap.used", values)) == "C heap in use: stopped growing only 80 steps ago"
    assert go_on(ran(300, "heap.used", values)) is None


@pytest.mark.parametrize(("metric", "horizon"), [("children.count", 40), ("threads", 100), ("fds", 200)])
def test_what_costs_much_a_step_stops_early(metric: str, horizon: int) -> None:
    checkpoint = next(c for c in DEFAULT.checkpoints if c >= horizon)

    assert go_on(ran(checkpoint, metric, line(900, 1))) is None


def test_a_proven_leak_of_processes_stops_although_the_heap_grows_too() -> None:
    steps = DEFAULT.warmup_steps + 48
    both = subject("plain", {"heap.used": line(steps, 9999), "children.count": line(steps, 1)})

    assert go_on(both) is None


def test_survivors_are_followed_to_the_horizon() -> None:
    def followed(measured: int) -> SubjectRecord:
        steps = DEFAULT.warmup_steps + measured
        kept = site(line(steps, 4096, start=0))
        totals = {"leak.bytes": [float(b) for b in kept.bytes], "leak.tensors": [float(c) for c in kept.storages]}
        return subject("ledger", totals, ledger=ledger(kept))

    assert go_on(followed(200)) == "live tensor storages: still growing, a cache may still be filling"
    assert go_on(followed(400)) is None


def test_nothing_goes_on_beyond_the_last_checkpoint() -> None:
    assert go_on(ran(DEFAULT.checkpoints[-1], "heap.used", fills(900, 800, 80_000))) is None


def test_a_collector_that_was_seen_at_work_ends_the_uncollected_subject() -> None:
    values = saw_tooth(900, 39, 256_000)

    assert go_on(ran(120, "heap.used", values, role="uncollected")) is None


def test_garbage_that_only_piles_up_is_watched_to_the_horizon() -> None:
    assert go_on(ran(200, "heap.used", line(900, 256_000), role="uncollected")) is not None


def test_too_few_steps_go_on_whatever_they_show() -> None:
    assert go_on(ran(20, "heap.used", flat(900))) == "only 20 steps were measured"


def test_a_subject_that_never_started_is_not_run_on() -> None:
    assert go_on(subject("plain", {}, started=False)) is None


def test_a_leak_at_its_horizon_ends_the_run_although_something_small_is_still_open() -> None:
    steps = DEFAULT.warmup_steps + 400
    both = subject("plain", {"heap.used": line(steps, 60_000), "python.bytes": fills(steps, 380, 900)})

    assert go_on(both) is None
