"""The ledgers' side of scopes: who owns a storage, and what a budget refuses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Literal

import pytest
import torch

from harness.errors import UsageError
from harness.ledger import Ledger, start_ledger, why_not_native
from harness.units import format_bytes

SOURCES: tuple[Literal["native", "dispatch"], ...] = ("native", "dispatch")


@pytest.fixture(params=SOURCES)
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    if request.param == "native" and (why_not := why_not_native()):
        pytest.skip(f"no native ledger: {why_not}")
    with start_ledger(source=request.param) as started:
        yield started


def test_what_is_allocated_in_a_scope_is_owned_by_it_and_not_by_its_parent(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/outer")
    ledger.define_scope(2, 1, name="root/outer/inner")

    at_root = torch.empty(1)
    assert ledger.enter_scope(1) == 0
    in_outer = torch.empty(2)
    assert ledger.enter_scope(2) == 1
    in_inner = torch.empty(3)
    assert ledger.enter_scope(1) == 2
    assert ledger.enter_scope(0) == 1

    assert [ledger.live_in_scope(n).total_bytes for n in (0, 1, 2)] == [4, 8, 12]
    assert [(s.bytes, s.scope, s.key) for s in ledger.survivors_in_scope(1)] == [(8, 1, ledger.key_of(in_outer))]
    assert len(at_root) + len(in_inner) == 4


def test_a_scope_that_nothing_escaped_from_has_nothing_alive(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/a")
    ledger.enter_scope(1)
    torch.empty(100)
    ledger.enter_scope(0)

    assert ledger.live_in_scope(1).storages == 0
    assert ledger.survivors_in_scope(1) == []


def test_a_moved_storage_belongs_to_the_other_scope(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/a")
    ledger.define_scope(2, 0, name="root/b", budget_bytes=16)
    ledger.enter_scope(1)
    tensor = torch.empty(10)
    ledger.enter_scope(0)

    assert ledger.move_to_scope(ledger.key_of(tensor), 2)
    assert not ledger.move_to_scope(12345, 2)

    assert ledger.live_in_scope(1).storages == 0
    assert ledger.live_in_scope(2).bytes == {"cpu": 40}
    use = ledger.scope_use(2)
    assert use is not None
    assert (use.budget_bytes, use.used_bytes, use.peak_bytes) == (16, 40, 40)


def test_a_forgotten_scope_takes_nothing_more_and_what_lives_in_it_still_counts_above(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/a", budget_bytes=1000)
    ledger.define_scope(2, 1, name="root/a/b")
    ledger.enter_scope(2)
    escaped = torch.empty(10)
    ledger.forget_scope(2)
    torch_owned_by_root = torch.empty(3)
    ledger.enter_scope(0)

    use = ledger.scope_use(1)
    assert use is not None
    assert use.used_bytes == 40
    assert ledger.live_in_scope(0).bytes == {"cpu": 12}
    with pytest.raises(UsageError, match="not defined"):
        ledger.live_in_scope(2)

    del escaped
    use = ledger.scope_use(1)
    assert use is not None
    assert use.used_bytes == 0
    assert len(torch_owned_by_root) == 3


def test_a_budget_refuses_with_a_sentence_that_names_the_scope(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/request", budget_bytes=512 * 1024)
    ledger.enter_scope(1)
    kept = torch.empty(100_000)

    with pytest.raises(RuntimeError) as refused:
        torch.empty(100_000)
    after = torch.empty(100)
    ledger.enter_scope(0)

    assert str(refused.value).splitlines()[0] == (
        "scope root/request: 390.6 KiB more would exceed its budget of 512.0 KiB (390.6 KiB in use)"
    )
    assert ledger.live_in_scope(1).total_bytes == 400_400
    assert len(kept) + len(after) == 100_100


def test_the_innermost_budget_that_is_exceeded_refuses(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/outer", budget_bytes=1000)
    ledger.define_scope(2, 1, name="root/outer/inner", budget_bytes=5000)
    ledger.define_scope(3, 2, name="root/outer/inner/leaf")
    ledger.enter_scope(3)

    with pytest.raises(RuntimeError, match=r"scope root/outer: 3\.9 KiB more"):
        torch.empty(1000)
    with pytest.raises(RuntimeError, match=r"scope root/outer/inner: 39\.1 KiB more"):
        torch.empty(10_000)
    ledger.enter_scope(0)

    assert ledger.live_in_scope(3).storages == 0
    use = ledger.scope_use(1)
    assert use is not None
    assert use.used_bytes == 0


def test_a_refusal_in_backward_is_an_ordinary_error(ledger: Ledger) -> None:
    weight = torch.ones(100, 100, requires_grad=True)
    loss = (weight @ weight).sigmoid().sum()
    ledger.define_scope(1, 0, name="root/backward", budget_bytes=100)
    ledger.enter_scope(1)

    with pytest.raises(RuntimeError, match="scope root/backward"):
        loss.backward()
    ledger.enter_scope(0)

    (weight @ weight).sum().backward()
    assert weight.grad is not None


def test_a_scope_holds_for_the_thread_that_entered_it_only(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/a")
    ledger.enter_scope(1)
    before: list[int] = []
    other = threading.Thread(target=lambda: before.append(ledger.enter_scope(0)))
    other.start()
    other.join()

    assert before == [0]
    assert ledger.enter_scope(0) == 1


def test_an_unknown_scope_and_a_number_given_twice_are_refused(ledger: Ledger) -> None:
    ledger.define_scope(1, 0, name="root/a")

    with pytest.raises(UsageError, match="scope 7 is not defined"):
        ledger.enter_scope(7)
    with pytest.raises(UsageError, match="defined already"):
        ledger.define_scope(1, 0, name="again")
    with pytest.raises(UsageError, match="root scope"):
        ledger.forget_scope(0)


@pytest.mark.parametrize("budget", [1, 1023, 1024, 1_048_524, 1_048_525, 1024**3, 5 * 1024**4])
def test_a_sentence_gives_sizes_as_all_our_reports_do(ledger: Ledger, budget: int) -> None:
    ledger.define_scope(1, 0, name="root/a", budget_bytes=budget)
    ledger.define_scope(2, 1, name="root/a/full", budget_bytes=0)
    ledger.enter_scope(1)
    asked = budget + 1 if budget < 2**20 else 2**60

    try:
        with pytest.raises(RuntimeError) as refused:
            torch.empty(asked, dtype=torch.uint8)
    finally:
        ledger.enter_scope(0)

    if ledger.source == "native" or budget < 2**20:
        assert f"{format_bytes(asked)} more would exceed its budget of {format_bytes(budget)}" in str(refused.value)
