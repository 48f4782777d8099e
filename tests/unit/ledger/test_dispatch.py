"""The dispatch ledger counts storages, each once, to the byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from harness.errors import UsageError
from harness.ledger import start_ledger
from harness.ledger.dispatch import DispatchLedger


@pytest.fixture
def ledger() -> Iterator[DispatchLedger]:
    with start_ledger(source="dispatch") as started:
        assert isinstance(started, DispatchLedger)
        yield started


def test_an_allocation_is_counted_to_the_byte_and_gone_when_it_is_freed(ledger: DispatchLedger) -> None:
    kept = torch.empty(1000, 1000)
    assert ledger.live().bytes == {"cpu": 4_000_000}

    del kept
    assert ledger.live().storages == 0


def test_views_are_no_storages_of_their_own_and_keep_the_whole(ledger: DispatchLedger) -> None:
    row = torch.ones(64, 4096)[0]

    live = ledger.live()

    assert row.numel() == 4096
    assert live.storages == 1
    assert live.total_bytes == 64 * 4096 * 4


def test_what_only_a_graph_holds_is_alive(ledger: DispatchLedger) -> None:
    weight = torch.ones(10, 10, requires_grad=True)
    root = (weight @ weight).sigmoid().sum().grad_fn

    held = ledger.live().total_bytes
    del root

    assert held >= 2 * 400
    assert ledger.live().total_bytes == 400


def test_survivors_are_told_apart_by_the_mark_they_were_born_after(ledger: DispatchLedger) -> None:
    old = torch.ones(3)
    ledger.mark()
    middle = torch.ones(4)
    now = ledger.mark()
    young = torch.ones(5)

    survivors = ledger.survivors(now)

    assert [(s.bytes, s.birth) for s in survivors] == [(12, -1), (16, 0)]
    assert ledger.live(since=now).total_bytes == 20
    assert len(old) + len(middle) + len(young) == 12


def test_the_peak_counts_what_was_alive_together_not_what_was_allocated(ledger: DispatchLedger) -> None:
    start = ledger.mark()
    for _ in range(10):
        torch.ones(1000)
    both = torch.ones(1000), torch.ones(500)
    del both

    assert ledger.peak_bytes(start) == {"cpu": 6000}
    assert ledger.allocations(start) == 12


def test_the_peak_since_an_old_mark_outlives_younger_marks(ledger: DispatchLedger) -> None:
    start = ledger.mark()
    torch.ones(1000)
    later = ledger.mark()
    torch.ones(10)

    assert ledger.peak_bytes(start) == {"cpu": 4000}
    assert ledger.peak_bytes(later) == {"cpu": 40}


def test_a_storage_that_is_resized_weighs_what_it_weighs_now(ledger: DispatchLedger) -> None:
    tensor = torch.ones(10)
    tensor.resize_(1000)

    assert ledger.live().bytes == {"cpu": 4000}


def test_a_site_is_the_users_line_and_not_torchs(ledger: DispatchLedger) -> None:
    layer = torch.nn.Linear(3, 3)

    (state, *_) = ledger.changed_sites()
    operator, frames = ledger.frames(state.site)

    assert layer.in_features == 3
    assert operator.startswith("aten::")
    assert frames[0].path == __file__
    assert frames[0].source == "layer = torch.nn.Linear(3, 3)"


def test_only_sites_whose_survivors_changed_are_told(ledger: DispatchLedger) -> None:
    kept = torch.ones(3)
    first = ledger.changed_sites()
    torch.ones(4)
    second = ledger.changed_sites()

    assert len(kept) == 3
    assert [state.storages for state in first] == [1]
    assert second == []


def test_a_meta_tensor_takes_no_memory(ledger: DispatchLedger) -> None:
    weightless = torch.ones(1000, 1000, device="meta")

    assert weightless.numel() == 1_000_000
    assert ledger.live().storages == 0


def test_stopping_twice_is_no_error_and_leaves_no_mode_behind() -> None:
    ledger = start_ledger(source="dispatch")
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
