"""What both ledgers promise: storages are counted, each once, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
import torch

from harness.errors import UsageError
from harness.ledger import Ledger, start_ledger, why_not_native

SOURCES: tuple[Literal["native", "dispatch"], ...] = ("native", "dispatch")


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> Literal["native", "dispatch"]:
    if request.param == "native" and (why_not := why_not_native()):
        pytest.skip(f"no native ledger: {why_not}")
    found: Literal["native", "dispatch"] = request.param
    return found


@pytest.fixture
def ledger(source: Literal["native", "dispatch"]) -> Iterator[Ledger]:
    with start_ledger(source=source) as started:
        assert started.source == source
        yield started


def test_an_allocation_is_counted_to_the_byte_and_gone_when_it_is_freed(ledger: Ledger) -> None:
    kept = torch.empty(1000, 1000)
    assert ledger.live().bytes == {"cpu": 4_000_000}

    del kept
    assert ledger.live().storages == 0
    assert ledger.live().bytes == {}


def test_views_are_no_storages_of_their_own_and_keep_the_whole(ledger: Ledger) -> None:
    row = torch.ones(64, 4096)[0]

    live = ledger.live()

    assert row.numel() == 4096
    assert live.storages == 1
    assert live.total_bytes == 64 * 4096 * 4


def test_what_only_a_graph_holds_is_alive(ledger: Ledger) -> None:
    weight = torch.ones(10, 10, requires_grad=True)
    root = (weight @ weight).sigmoid().sum().grad_fn

    held = ledger.live().total_bytes
    del root

    assert held >= 2 * 400
    assert ledger.live().total_bytes == 400


def test_survivors_are_told_apart_by_the_mark_they_were_born_after(ledger: Ledger) -> None:
    old = torch.empty(3)
    ledger.mark()
    middle = torch.empty(4)
    now = ledger.mark()
    young = torch.empty(5)

    survivors = ledger.survivors(now)

    assert [(s.bytes, s.birth) for s in survivors] == [(12, -1), (16, 0)]
    assert [s.key for s in survivors] == [ledger.key_of(old), ledger.key_of(middle)]
    assert ledger.live(since=now).total_bytes == 20
    assert len(young) == 5


def test_the_peak_counts_what_was_alive_together_not_what_was_allocated(ledger: Ledger) -> None:
    start = ledger.mark()
    for _ in range(10):
        torch.empty(1000)
    both = torch.empty(1000), torch.empty(500)
    del both

    assert ledger.peak_bytes(start) == {"cpu": 6000}
    assert ledger.allocations(start) == 12


def test_the_peak_since_an_old_mark_outlives_younger_marks(ledger: Ledger) -> None:
    start = ledger.mark()
    torch.empty(1000)
    later = ledger.mark()
    torch.empty(10)

    assert ledger.peak_bytes(start) == {"cpu": 4000}
    assert ledger.peak_bytes(later) == {"cpu": 40}


def test_a_storage_that_is_resized_weighs_what_it_weighs_now(ledger: Ledger) -> None:
    tensor = torch.ones(10)
    tensor.resize_(1000)

    assert ledger.live().bytes == {"cpu": 4000}


def test_a_site_is_the_users_line_and_not_torchs(ledger: Ledger) -> None:
    layer = torch.nn.Linear(3, 3)

    (state, *_) = ledger.changed_sites()
    operator, frames = ledger.frames(state.site)

    assert layer.in_features == 3
    assert isinstance(operator, str)
    assert frames[0].path == __file__
    assert frames[0].source == "layer = torch.nn.Linear(3, 3)"
    assert frames[0].function == "test_a_site_is_the_users_line_and_not_torchs"
    assert ledger.device_of(state.site) == "cpu"


def test_only_sites_whose_survivors_changed_are_told(ledger: Ledger) -> None:
    kept = torch.empty(3)
    first = ledger.changed_sites()
    torch.empty(4)
    second = ledger.changed_sites()

    assert len(kept) == 3
    assert [state.storages for state in first] == [1]
    assert second == []


def test_a_site_tells_the_birth_of_its_oldest_survivor(ledger: Ledger) -> None:
    def allocate() -> torch.Tensor:
        return torch.empty(8)

    alive, oldest = [], []
    for _ in range(4):
        ledger.mark()
        alive.append(allocate())
        alive = alive[-2:]
        oldest.append([state.oldest_birth for state in ledger.changed_sites()])

    assert oldest == [[0], [0], [1], [2]]


def test_a_function_that_is_called_from_two_lines_has_two_sites(ledger: Ledger) -> None:
    def allocate() -> torch.Tensor:
        return torch.empty(8)

    kept = [
        allocate(),
        allocate(),
    ]

    lines = [[frame.line for frame in ledger.frames(state.site)[1]] for state in ledger.changed_sites()]

    assert len(kept) == 2
    assert len({line[0] for line in lines}) == 1
    assert len({line[1] for line in lines}) == 2


def test_a_meta_tensor_takes_no_memory(ledger: Ledger) -> None:
    weightless = torch.ones(1000, 1000, device="meta")

    assert weightless.numel() == 1_000_000
    assert ledger.live().storages == 0


def test_storage_keys_tell_each_live_storage_and_its_site(ledger: Ledger) -> None:
    first = torch.empty(3)
    second = torch.empty(4)

    keys = ledger.storage_keys()

    assert list(keys) == [ledger.key_of(first), ledger.key_of(second[1:])]
    assert [ledger.frames(site)[1][0].source for site in keys.values()] == [
        "first = torch.empty(3)",
        "second = torch.empty(4)",
    ]


def test_stopping_twice_is_no_error_and_what_is_allocated_then_is_not_seen(
    source: Literal["native", "dispatch"],
) -> None:
    ledger = start_ledger(source=source)
    ledger.stop()
    ledger.stop()

    kept = torch.ones(3)

    assert len(kept) == 3
    assert ledger.live().storages == 0


def test_an_unknown_source_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no ledger source"):
        start_ledger(source="magic")  # type: ignore[arg-type]


def test_a_depth_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="between 1 and 64"):
        start_ledger(depth=0)
