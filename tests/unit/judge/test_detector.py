"""From a recording to a verdict: what leaks, and what is one suspect."""

from __future__ import annotations

import pytest

from harness.judge.assessment import assess
from harness.judge.detector import judge
from harness.judge.movements import OUTSIDE_HEAP
from harness.judge.policy import DEFAULT
from tests.builders import MIB, fills, flat, line, recording, site, stairs, subject
from tests.unit.judge.subjects import (
    STEPS,
    classes,
    followed,
    metrics,
    plain,
    still,
    with_workers,
)


def test_a_program_that_stands_still_is_stable() -> None:
    verdict = judge(recording(plain(), followed()))

    assert (verdict.outcome, verdict.final, verdict.suspects) == ("stable", True, ())
    assert verdict.reasons[0] == "live tensor storages did not grow over the last 400 steps"


def test_a_list_of_tensors_is_a_leak_at_its_line() -> None:
    kept = site(line(STEPS, 4096, start=0))

    verdict = judge(recording(plain(heap_used=line(STEPS, 4160)), followed(kept)))

    assert (verdict.outcome, verdict.final) == ("leak", True)
    assert [(s.metric, s.site) for s in verdict.suspects] == [("leak.bytes", kept)]
    assert verdict.reasons[0].startswith(
        "live tensor storages from job.py:12 grew 4.0 KiB/step over the last 400 steps"
    )
    assert verdict.reasons[1] == "408 storages are alive and the oldest did not die: it is from step 0"


def test_a_leak_seen_over_few_steps_is_not_final() -> None:
    kept = site(line(128, 4096, start=0))

    verdict = judge(recording(plain(128, heap_used=line(128, 4160)), followed(kept, steps=128)))

    assert (verdict.outcome, verdict.final) == ("leak", False)


def test_a_buffer_that_turns_over_is_bounded() -> None:
    sizes = fills(STEPS, 100, 4096, start=0)
    births = [max(0, k - 100) for k in range(STEPS + 1)]
    ring = site(sizes, oldest=births)

    verdict = judge(recording(plain(heap_used=fills(STEPS, 100, 4160)), followed(ring)))

    assert (verdict.outcome, classes(verdict)) == ("stable", ["bounded_cache"])
    assert "stopped at step 99 and stood still for the last 308 steps" in verdict.look_alikes[0].evidence


def test_a_backlog_leaks_although_its_oldest_entries_die() -> None:
    backlog = site(line(STEPS, 4096, start=0), oldest=[k // 2 for k in range(STEPS + 1)])

    verdict = judge(recording(plain(heap_used=line(STEPS, 4160)), followed(backlog)))

    assert verdict.outcome == "leak"
    assert "old ones die" in verdict.reasons[1]


def test_one_tensor_that_is_replaced_by_a_longer_one_each_step_leaks() -> None:
    longer = site(line(STEPS, 4096, start=4096), storages=flat(STEPS, 1), oldest=list(range(-1, STEPS)))

    verdict = judge(recording(plain(heap_used=line(STEPS, 4096)), followed(longer)))

    assert verdict.outcome == "leak"
    assert [(s.metric, s.site) for s in verdict.suspects] == [("leak.bytes", longer)]


def test_a_ring_buffer_of_various_sizes_is_no_leak_while_its_bytes_wander_up() -> None:
    sizes = [4096.0 * (100 + k // 2 + 37 * (k % 2)) for k in range(STEPS + 1)]
    ring = site(sizes, storages=flat(STEPS, 100), oldest=list(range(-1, STEPS)))

    verdict = judge(recording(plain(heap_used=sizes), followed(ring)))

    assert verdict.outcome == "stable"


def test_survivors_under_the_ledger_alone_are_doubted() -> None:
    verdict = judge(recording(plain(), followed(site(line(STEPS, 4096, start=0)))))

    assert verdict.outcome == "inconclusive"
    assert "under the ledger, but C heap in use moved by 0 B/step" in verdict.reasons[0]


def test_the_plain_subject_shows_where_a_fill_ends_that_the_slow_ledger_did_not_reach() -> None:
    filling = site(line(108, 4096, start=0))

    verdict = judge(recording(plain(heap_used=fills(STEPS, 200, 4160)), followed(filling, steps=108)))

    assert verdict.outcome == "stable"


def test_the_heap_alone_is_not_enough() -> None:
    verdict = judge(recording(plain(heap_used=line(STEPS, 60_000))))

    assert verdict.outcome == "inconclusive"
    assert "no second measurement confirms it" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("witness", "values"),
    [
        ("rss.anon", line(STEPS, 60_000)),
        ("mapped.private", line(STEPS, 60_000)),
        ("python.blocks", line(STEPS, 30)),
    ],
)
def test_the_heap_and_one_more_witness_are(witness: str, values: list[float]) -> None:
    grown = still() | {"heap.used": line(STEPS, 60_000), witness: values}

    verdict = judge(recording(subject("plain", grown)))

    assert (verdict.outcome, metrics(verdict)) == ("leak", ["heap.used"])


def test_a_second_run_is_a_witness() -> None:
    verdict = judge(recording(plain(heap_used=line(STEPS, 60_000)), followed(heap_used=line(STEPS, 59_000))))

    assert (verdict.outcome, metrics(verdict)) == ("leak", ["heap.used"])
    assert "a second run agrees: 57.6 KiB/step" in verdict.reasons


def test_small_objects_leak_when_bytes_and_blocks_agree() -> None:
    verdict = judge(recording(plain(python_bytes=line(STEPS, 5000), python_blocks=line(STEPS, 60))))

    assert (verdict.outcome, metrics(verdict)) == ("leak", ["python.bytes"])


def test_a_few_small_objects_a_step_are_a_note() -> None:
    verdict = judge(recording(plain(python_bytes=line(STEPS, 120), python_blocks=line(STEPS, 2))))

    assert verdict.outcome == "stable"
    assert verdict.notes[0].startswith("small Python objects in use grew 120 B/step over the last 400 steps")
    assert verdict.notes[0].endswith("below the 256 B/step that count as a leak")


def test_two_independent_leaks_give_two_suspects() -> None:
    tensors = site(line(STEPS, 131_072, start=0), storages=line(STEPS, 1, start=0))
    grown = plain(heap_used=line(STEPS, 132_000), python_bytes=line(STEPS, 5000), python_blocks=line(STEPS, 60))

    verdict = judge(recording(grown, followed(tensors)))

    assert metrics(verdict) == ["leak.bytes", "python.bytes"]


def test_the_objects_around_a_tensor_are_no_second_suspect() -> None:
    tensors = site(line(STEPS, 131_072, start=0), storages=line(STEPS, 1, start=0))
    grown = plain(heap_used=line(STEPS, 132_000), python_bytes=line(STEPS, 2000), python_blocks=line(STEPS, 20))

    assert metrics(judge(recording(grown, followed(tensors)))) == ["leak.bytes"]


def test_the_heap_of_tensors_is_no_second_suspect() -> None:
    tensors = site(line(STEPS, 131_072, start=0), storages=line(STEPS, 1, start=0))
    grown = plain(heap_used=line(STEPS, 140_000), rss_anon=line(STEPS, 150_000))

    assert metrics(judge(recording(grown, followed(tensors)))) == ["leak.bytes"]


def test_a_heap_that_grows_by_clearly_more_than_its_tensors_is_one_with_the_difference() -> None:
    tensors = site(line(STEPS, 100_000, start=0), storages=line(STEPS, 1, start=0))
    grown = plain(heap_used=line(STEPS, 180_000), rss_anon=line(STEPS, 180_000))

    verdict = judge(recording(grown, followed(tensors)))

    assert metrics(verdict) == ["leak.bytes", "heap.used"]
    assert [s.growth.per_step for s in verdict.suspects] == pytest.approx([100_000, 80_000])


def test_a_small_view_of_foreign_memory_is_one_suspect_with_its_line() -> None:
    handle = site(line(STEPS, 64, start=0), storages=line(STEPS, 1, start=0))
    grown = plain(heap_used=line(STEPS, MIB), rss_anon=line(STEPS, MIB))

    verdict = judge(recording(grown, followed(handle)))

    assert [(s.metric, s.site) for s in verdict.suspects] == [("heap.used", handle)]


@pytest.mark.parametrize(("metric", "steps"), [("children.count", 48), ("threads", 108), ("fds", 208)])
def test_counts_leak_by_themselves_at_their_own_horizon(metric: str, steps: int) -> None:
    verdict = judge(recording(subject("plain", still(steps) | {metric: line(steps, 1, start=2)})))

    assert (verdict.outcome, verdict.final, metrics(verdict)) == ("leak", True, [metric])


def test_what_a_descriptor_brings_along_is_no_leak_of_its_own() -> None:
    grown = plain(fds=line(STEPS, 1), python_bytes=line(STEPS, 13_000), python_blocks=line(STEPS, 99))

    assert metrics(judge(recording(grown))) == ["fds"]


def test_memory_mapped_and_touched_beside_the_heap_leaks() -> None:
    grown = plain(mapped_private=line(STEPS, MIB), rss_anon=line(STEPS, MIB))

    verdict = judge(recording(grown))

    assert (verdict.outcome, metrics(verdict)) == ("leak", ["mapped.private"])


def test_thread_stacks_are_not_memory_mapped_beside_the_heap() -> None:
    stacks = plain(mapped_private=line(STEPS, 8 * MIB), threads=line(STEPS, 1), rss_anon=line(STEPS, 8 * MIB))

    assert assess(stacks, DEFAULT).movements[OUTSIDE_HEAP].rise == 0
    assert metrics(judge(recording(stacks))) == ["threads"]


def test_shared_memory_that_this_process_touched_leaks() -> None:
    grown = plain(shm_bytes=line(STEPS, 200_704, start=0), rss_shared=line(STEPS, 200_704, start=0))

    assert metrics(judge(recording(grown))) == ["shm.bytes"]


def test_shared_memory_that_did_not_grow_in_a_second_run_was_another_programs() -> None:
    verdict = judge(recording(plain(shm_bytes=line(STEPS, 200_704, start=0)), followed()))

    assert verdict.outcome == "stable"


def test_shared_memory_that_grows_alone_in_the_only_run_may_be_another_programs() -> None:
    verdict = judge(recording(plain(shm_bytes=line(STEPS, 200_704, start=0))))

    assert verdict.outcome == "inconclusive"
    assert "another program may be filling /dev/shm" in verdict.reasons[0]


def test_shared_tensors_are_one_suspect_with_their_line() -> None:
    kept = site(line(STEPS, 200_000, start=0), storages=line(STEPS, 1, start=0))
    grown = plain(shm_bytes=line(STEPS, 200_704, start=0), rss_shared=line(STEPS, 200_704, start=0))

    verdict = judge(recording(grown, followed(kept)))

    assert [(s.metric, s.site) for s in verdict.suspects] == [("shm.bytes", kept)]


def test_a_worker_that_keeps_what_it_allocates_leaks() -> None:
    verdict = with_workers(line(STEPS, 400_000), resident=line(STEPS, 380_000))

    assert (verdict.outcome, metrics(verdict)) == ("leak", ["children.bytes"])


def test_a_workers_growth_without_a_second_witness_is_left_open() -> None:
    grown = still() | {"children.count": flat(STEPS, 1), "children.bytes": line(STEPS, 400_000)}

    verdict = judge(recording(subject("plain", grown, every={"children.bytes": 4, "children.count": 4})))

    assert verdict.outcome == "inconclusive"


def test_tensors_that_only_change_places_are_no_leak() -> None:
    taken, kept = line(STEPS, -4096, start=4096 * 500), line(STEPS, 4096, start=0)

    verdict = judge(recording(plain(), followed(site(taken, number=1), site(kept, number=2))))

    assert verdict.outcome == "stable"


def test_a_leak_in_every_tenth_step_is_found() -> None:
    kept = site(stairs(STEPS, 10, 40_960, start=0), storages=stairs(STEPS, 10, 1, start=0))

    verdict = judge(recording(plain(heap_used=stairs(STEPS, 10, 41_000)), followed(kept)))

    assert verdict.outcome == "leak"
