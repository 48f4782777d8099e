"""A peak is explained by replaying backwards from now."""

from __future__ import annotations

import pytest
import torch

from harness.ledger import why_not_native
from harness.ledger.peak import PeakPart, at_the_peak


def test_what_died_after_the_peak_was_there_and_what_was_born_after_it_was_not() -> None:
    alive = [(1, 10, 5), (4, 7, 6)]
    events = [(2, 100, 5), (3, 50, 6), (3, -50, 6), (2, -100, 5), (4, 7, 6)]

    assert at_the_peak(alive, events) == (
        PeakPart(site=5, storages=2, bytes=110, still_alive=(1,)),
        PeakPart(site=6, storages=1, bytes=50, still_alive=()),
    )


def test_without_events_the_peak_is_now() -> None:
    assert at_the_peak([(1, 10, 5)], []) == (PeakPart(site=5, storages=1, bytes=10, still_alive=(1,)),)


def test_an_address_that_is_used_again_is_told_apart_by_time() -> None:
    events = [(1, 10, 5), (1, -10, 5), (1, 30, 6), (1, -30, 6), (1, 20, 7)]

    assert at_the_peak([(1, 20, 7)], events) == (PeakPart(site=6, storages=1, bytes=30, still_alive=()),)


def test_an_interval_that_only_frees_has_its_peak_at_its_beginning() -> None:
    assert at_the_peak([], [(1, -10, 5)]) == (PeakPart(site=5, storages=1, bytes=10, still_alive=()),)


@pytest.mark.skipif(why_not_native() is not None, reason="no native ledger")
def test_the_parts_of_a_real_peak_add_up_to_it() -> None:
    from harness.ledger.native_ledger import NativeLedger

    with NativeLedger(depth=1, keep_events=True).start() as ledger:
        kept = torch.empty(100)
        mark = ledger.mark()
        large = torch.empty(1000)
        del large
        small = torch.empty(10)
        parts = ledger.peak_parts(mark)

        assert parts is not None
        assert sum(part.bytes for part in parts) == ledger.peak_bytes(mark)["cpu"] == 4400
        assert [ledger.frames(part.site)[1][0].source for part in parts] == [
            "large = torch.empty(1000)",
            "kept = torch.empty(100)",
        ]
        assert parts[1].still_alive == (ledger.key_of(kept),)
        assert len(small) == 10


@pytest.mark.skipif(why_not_native() is not None, reason="no native ledger")
def test_more_events_than_are_kept_give_no_composition_instead_of_a_wrong_one() -> None:
    from harness.ledger import _native
    from harness.ledger.native_ledger import NativeLedger

    with NativeLedger(depth=1, keep_events=True).start() as ledger:
        mark = ledger.mark()
        _native.exercise(100_000, 64, 1)

        assert ledger.peak_parts(mark) is None
        assert ledger.peak_parts(ledger.mark()) == ()
