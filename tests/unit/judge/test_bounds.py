"""A container that says how much it takes is a cache while it fills, and a leak of nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.judge.detector import judge
from harness.model.holding import GrownContainer, HeldRecord, HolderPath, Link
from harness.model.recording import Recording
from harness.model.verdict import Verdict
from tests.builders import ledger, line, recording, site, subject

STEPS = 408


def a_path(**said: Any) -> HolderPath:
    link = Link(text="replay: deque", name="replay", kind="collections.deque")
    said.setdefault("grew", (8, STEPS))
    return HolderPath(root="module train", root_kind="module", links=(link,), suspect=0, storages=4, bytes=4096, **said)


def judged(*ways: HolderPath, containers: tuple[GrownContainer, ...] = (), python: float = 0.0) -> Verdict:
    """A program that keeps 1 KiB of tensors a step (none with *python*), in what *ways* say."""
    heap = {"heap.used": line(STEPS, 1024), "python.bytes": line(STEPS, python or 64)}
    plain = subject("plain", heap)
    if python:
        followed = subject("ledger", heap, ledger=ledger())
    else:
        kept = site(line(STEPS, 1024, 0), storages=line(STEPS, 1, 0))
        totals = {"leak.bytes": line(STEPS, 1024, 0), "leak.tensors": line(STEPS, 1, 0), "heap.used": line(STEPS, 1024)}
        followed = subject("ledger", totals, ledger=ledger(kept))
    sites = {1: ways} if ways else {}
    held = HeldRecord(steps=STEPS - 8, objects=1000, sites=sites, containers=containers)
    told: Recording = recording(plain, msgspec.structs.replace(followed, held=held))
    return judge(told)


def test_what_fills_a_bounded_container_is_a_cache_with_its_plateau_predicted() -> None:
    verdict = judged(a_path(bound=5000))

    assert verdict.outcome == "stable"
    (cache,) = [one for one in verdict.look_alikes if one.look_alike == "bounded_cache"]
    assert cache.evidence == (
        "replay holds 408 of the 5,000 elements that it takes at most: at 1 a step it is full after 4,592 more steps, "
        "and takes 4.9 MiB then"
    )


@pytest.mark.parametrize("bound", [None, 408, 100])
def test_without_a_bound_or_beyond_it_growth_is_a_leak(bound: int | None) -> None:
    assert judged(a_path(bound=bound)).outcome == "leak"


def test_what_something_else_holds_too_is_a_leak_whatever_the_first_says() -> None:
    other = msgspec.structs.replace(a_path(bound=None), root="module other")

    assert judged(a_path(bound=5000), other).outcome == "leak"


def test_objects_in_a_bounded_container_are_a_cache_too() -> None:
    path = a_path(bound=5000)
    container = GrownContainer(path=path, size_then=8, size_now=STEPS, steps=400, element="dict", element_bytes=2000)

    assert judged(containers=(container,), python=2000.0).outcome == "stable"


def test_a_container_that_says_it_has_no_bound_leaves_no_doubt() -> None:
    told = " ".join(judged(a_path(unbounded=True)).reasons)

    assert "a cache that still fills looks the same" not in told
