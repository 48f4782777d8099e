"""From a recording to a verdict: growth that is no leak, and by which name."""

from __future__ import annotations

import pytest

from harness.judge.detector import judge
from tests.builders import MIB, fills, flat, jumps, line, recording, saw_tooth, site, subject
from tests.unit.judge.subjects import (
    STEPS,
    classes,
    followed,
    metrics,
    plain,
    still,
    uncollected,
    with_workers,
)


def test_resident_pages_over_a_still_heap_are_the_allocators() -> None:
    grown = plain(rss_anon=fills(STEPS, 60, 300_000), heap_free=fills(STEPS, 60, 290_000))

    verdict = judge(recording(grown, followed()))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["warm_up", "allocator_retention"])


def test_file_pages_are_page_cache() -> None:
    verdict = judge(recording(plain(rss_file=line(STEPS, 524_288)), followed()))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["page_cache"])


def test_a_library_that_is_loaded_late_is_no_page_cache() -> None:
    assert classes(judge(recording(plain(rss_file=jumps(STEPS, 60)), followed()))) == []


def test_a_workers_copied_pages_stop_and_are_copy_on_write() -> None:
    grown = still() | {"children.count": flat(STEPS, 1), "children.bytes": fills(STEPS, 100, 400_000)}

    verdict = judge(recording(subject("plain", grown, every={"children.bytes": 4, "children.count": 4})))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["copy_on_write"])


def test_a_worker_whose_pages_are_copied_to_the_end_is_no_leak() -> None:
    """Seen with a clean DataLoader: 2.4 KiB a step for 800 steps, with an interval as narrow as a leak's."""
    verdict = with_workers(line(STEPS, 4096), resident=flat(STEPS))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["copy_on_write"])


def test_a_single_allocation_is_told_with_its_step() -> None:
    late = site(jumps(STEPS, 60, 64 * MIB, start=0), storages=jumps(STEPS, 60, 1, start=0))

    verdict = judge(recording(plain(heap_used=jumps(STEPS, 60)), followed(late)))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["one_time_allocation"])
    assert verdict.look_alikes[0].evidence == (
        "live tensor storages rose once, by 64.0 MiB in step 60, and neither before nor after"
    )


def test_peaks_that_come_back_are_periodic() -> None:
    peaks = [50 * MIB + (8 * MIB if k % 50 == 20 else 0) for k in range(STEPS + 1)]

    assert classes(judge(recording(plain(heap_used=peaks), followed()))) == ["periodic_peak"]


def test_memory_taken_in_the_first_steps_is_warm_up() -> None:
    verdict = judge(recording(plain(heap_used=fills(STEPS, 6, MIB)), followed()))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["warm_up"])


def test_many_allocations_of_which_none_survives_are_churn() -> None:
    verdict = judge(recording(plain(), followed(allocations_step=flat(STEPS, 120))))

    assert classes(verdict) == ["steady_churn"]


def test_garbage_that_a_collection_frees_is_late_collection() -> None:
    verdict = judge(recording(plain(), followed(), uncollected(saw_tooth(STEPS, 39, 256_000))))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["late_collection"])


def test_garbage_that_no_collection_reached_yet_is_late_collection_too() -> None:
    verdict = judge(recording(plain(), followed(), uncollected(line(STEPS, 256_000))))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["late_collection"])


@pytest.mark.parametrize("state", [{"collector_enabled": False}, {"frozen_growth": 800}])
def test_garbage_that_nobody_will_ever_collect_leaks(state: dict[str, object]) -> None:
    verdict = judge(recording(plain(), followed(), uncollected(line(STEPS, 256_000), **state)))

    assert (verdict.outcome, metrics(verdict)) == ("leak", ["heap.used"])


def test_garbage_that_the_program_collects_by_hand_is_no_leak() -> None:
    alone = uncollected(saw_tooth(STEPS, 25, 400_000), collector_enabled=False)

    verdict = judge(recording(plain(), followed(), alone))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["late_collection"])
