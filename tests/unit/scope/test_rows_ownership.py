"""The rows on who owns a tensor, and how it changes hands."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.errors import (
    BudgetExceededError,
    EscapedTensorsError,
    ScopeClosedError,
    ScopeContextError,
    UsageError,
    UseAfterCloseError,
)
from harness.ledger import Ledger
from harness.scope import NullScope, ResourceScope, batches, root


def test_row_07_a_failed_adopt_moves_nothing(ledger: Ledger) -> None:
    with ResourceScope("a") as a:
        first, second, closed = torch.ones(10), torch.ones(20), torch.ones(30)
        a.close_tensor(closed)
        target = ResourceScope("b")

        with pytest.raises(UseAfterCloseError):
            target.adopt({"x": first, "deep": [second, closed]})

        assert a.dump().bytes == {"cpu": 120}
        assert target.dump().storages == 0
        assert target.moves == ()
        target.close()
        del first, second


def test_row_07_an_adopt_beyond_the_budget_moves_nothing(ledger: Ledger) -> None:
    with ResourceScope("a") as a:
        first, second = torch.ones(10), torch.ones(1000)
        target = ResourceScope("b", budget=1000)

        with pytest.raises(BudgetExceededError, match="would exceed its budget of 1000 B"):
            target.adopt([first, second])

        assert a.dump().storages == 2
        target.close()
        del first, second


def test_row_07_a_tree_without_a_tensor_is_refused(ledger: Ledger) -> None:
    with ResourceScope("a") as a, pytest.raises(UsageError, match="no tensor"):
        a.adopt([1, "two"])


def test_row_08_a_cap_raises_at_the_line_that_allocates(ledger: Ledger) -> None:
    with ResourceScope("model") as model:
        weight = torch.ones(10)
        model.cap()
        weight.mul_(2)  # allocates nothing

        with pytest.raises(BudgetExceededError, match=r"capped: .* would allocate 40 B"):
            torch.ones(10)

        assert model.dump().storages == 1
        model.uncap()
        torch.ones(10)
        del weight


def test_row_08_a_cap_that_records_lists_all_offenders_in_one_run(ledger: Ledger) -> None:
    with ResourceScope("model") as model:
        model.cap(mode="record")
        for _ in range(3):
            torch.ones(10)
        torch.zeros(5)

        offenders = model.offenders

    assert [(o.frames[0].source, o.count, o.bytes) for o in offenders] == [
        ("torch.ones(10)", 3, 120),
        ("torch.zeros(5)", 1, 20),
    ]


def test_row_09_a_result_belongs_to_the_innermost_scope(ledger: Ledger) -> None:
    with ResourceScope("model") as model:
        weight = torch.ones(10)
        with ResourceScope("request") as request:
            result = weight * 2

            assert request.dump().storages == 1
            assert model.dump().storages == 1
            del result
        del weight


def test_row_09_training_with_adam_and_batch_norm_is_silent(ledger: Ledger) -> None:
    losses = _train(lambda data: batches(data, on_escape="raise"))

    assert len(losses) == 6
    assert root().escapes == ()


def test_row_09_the_same_loop_in_with_blocks_hands_roles_over(ledger: Ledger) -> None:
    def step(model: Any, optimizer: Any) -> None:
        with ResourceScope("step", on_escape="raise"):
            _one_step(model, optimizer, torch.randn(8, 4))

    with ResourceScope("model") as scope:
        model, optimizer = _model()
        for _ in range(3):
            step(model, optimizer)

        assert scope.dump().roles.keys() == {"parameter", "gradient", "optimizer state", "buffer"}
        del model, optimizer


def test_row_09_a_loop_that_keeps_each_loss_is_not_silent(ledger: Ledger) -> None:
    def loop() -> None:
        kept = {}
        for i, x in enumerate(batches([torch.randn(8, 4) for _ in range(6)], on_escape="raise")):
            kept[i] = (x * 2).mean()

    with pytest.raises(EscapedTensorsError, match=r"1 storage is alive at its end: .* held by a dict of 2, under 0"):
        loop()


def test_row_09_a_result_that_an_outer_scope_ends_up_owning_is_named(ledger: Ledger) -> None:
    kept = []
    with ResourceScope("outer") as outer:
        with ResourceScope("inner") as inner:
            kept.append(torch.ones(100))

        (escape,) = inner.escapes
        assert (escape.scope, escape.now_in, escape.bytes) == (inner.path, outer.path, 400)
        assert escape.frames[0].source == "kept.append(torch.ones(100))"
        assert escape.held_by == ("a list of 1",)
        kept.clear()


def test_row_10_adopting_moves_and_records_from_to_and_where(ledger: Ledger) -> None:
    with ResourceScope("a") as a, ResourceScope("b") as b:
        tree = {"x": torch.ones(10), "y": [torch.ones(20)]}

        assert a.adopt(tree) is tree

        (move,) = a.moves
        assert (move.source, move.target, move.storages, move.bytes) == (b.path, a.path, 2, 120)
        assert move.at[0].source == "assert a.adopt(tree) is tree"
        assert (a.dump().storages, b.dump().storages) == (2, 0)
        del tree


def test_row_11_what_is_released_is_owned_by_nobody_and_listed_until_it_dies(ledger: Ledger) -> None:
    with ResourceScope("a", on_escape="raise") as a:
        free = a.release(torch.ones(25))

    assert [(r.bytes, r.released_by) for r in root().dump().released] == [(100, a.path)]
    del free
    assert root().dump().released == ()


def test_row_12_what_is_borrowed_goes_back_also_after_an_exception_and_nests(ledger: Ledger) -> None:
    with ResourceScope("lender") as lender, ResourceScope("outer") as outer, ResourceScope("inner") as inner:
        tensor = torch.ones(10)
        lender.adopt(tensor)

        with pytest.raises(KeyError), outer.borrow(tensor):
            assert outer.dump().storages == 1
            raise KeyError
        assert lender.dump().storages == 1

        with outer.borrow(tensor), pytest.raises(ScopeContextError, match="is lent to"):
            inner.adopt(tensor)
        assert lender.dump().storages == 1
        del tensor


def test_row_12_a_lender_that_was_closed_meanwhile_is_an_error_that_says_so(ledger: Ledger) -> None:
    with ResourceScope("outer") as outer:
        lender = ResourceScope("lender")
        tensor = lender.adopt(torch.ones(10))

        with pytest.raises(ScopeClosedError, match="the lender was closed meanwhile"), outer.borrow(tensor):
            lender.close()

        del tensor


def test_row_13_keep_moves_to_the_parent_and_returns_what_it_was_given(ledger: Ledger) -> None:
    with ResourceScope("outer") as outer:
        with ResourceScope("inner", on_escape="raise") as inner:
            result = inner.keep(torch.ones(10))

        assert outer.dump().storages == 1
        assert len(result) == 10
        del result


def test_row_13_keep_on_a_top_level_scope_releases(ledger: Ledger) -> None:
    with ResourceScope("top", on_escape="raise") as top:
        result = top.keep(torch.ones(10))

    assert [r.bytes for r in root().dump().released] == [40]
    del result


def test_row_13_keep_takes_from_scopes_below_and_leaves_what_is_owned_outside(ledger: Ledger) -> None:
    with ResourceScope("a") as a:
        outside = torch.ones(5)
        with ResourceScope("b") as b, ResourceScope("c", on_escape="raise"):
            result = b.keep([torch.ones(10), outside])

        assert a.dump().bytes == {"cpu": 60}
        del result, outside


def test_row_23_a_null_scope_takes_every_call_and_does_nothing() -> None:
    public = {name for name in dir(ResourceScope) if not name.startswith("_")}
    tensor = torch.ones(3)

    with NullScope("x", on_escape="raise", budget="1 B") as scope:
        assert public <= set(dir(scope))
        assert scope.adopt(tensor) is scope.keep(tensor) is scope.release(tensor) is scope.own(tensor) is tensor
        with scope.borrow(tensor) as same:
            assert same is tensor
        assert list(scope.batches([1, 2])) == [1, 2]
        assert list(scope.iterate(iter([1]))) == [1]
        assert scope.run_in_thread(lambda: 3).result() == 3
        scope.close_tensor(tensor)
        scope.cap()
        scope.close()

    assert tensor.sum() == 3
    assert scope.is_open


def test_row_29_state_that_outlives_its_optimizer_is_found(ledger: Ledger) -> None:
    stolen = []
    with ResourceScope("model") as scope:
        model, optimizer = _model()
        with ResourceScope("step"):
            _one_step(model, optimizer, torch.randn(8, 4))
        stolen.append(next(iter(optimizer.state.values()))["exp_avg"])
        assert scope.dump().orphaned_state == ()

        del optimizer

        (orphan,) = scope.dump().orphaned_state
        assert orphan.optimizer.endswith("Adam")
        assert orphan.storages == 1
        stolen.clear()
        assert scope.dump().orphaned_state == ()
        del model


def test_row_30_a_batch_is_closed_on_next_exception_and_break(ledger: Ledger) -> None:
    seen: list[int] = []

    def loader() -> Any:
        try:
            for i in range(4):
                yield torch.full((10,), float(i))
        finally:
            seen.append(-1)

    def loop(stop: str) -> None:
        for batch in batches(loader(), on_escape="raise"):
            seen.append(int(batch[0]))
            if len(seen) == 2 and stop == "break":
                break
            if len(seen) == 2:
                raise KeyError

    loop("break")
    assert seen == [0, 1, -1]

    seen.clear()
    with pytest.raises(KeyError):
        loop("raise")
    assert seen == [0, 1, -1]
    assert root().dump().open_scopes == ()


def test_row_30_what_escapes_before_a_break_is_raised_where_the_outer_scope_ends(ledger: Ledger) -> None:
    kept = []

    with (
        pytest.raises(EscapedTensorsError, match=r"root/outer/batch#\d+: 1 storage .* held by a list of 1"),
        ResourceScope("outer") as outer,
    ):
        for batch in outer.batches([1.0, 2.0, 3.0], on_escape="raise"):
            kept.append(torch.full((3,), batch))
            break
    kept.clear()


def _model() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    return model, torch.optim.Adam(model.parameters())


def _one_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> float:
    optimizer.zero_grad()
    loss: torch.Tensor = model(x).square().mean()
    loss.backward()
    optimizer.step()
    value = loss.item()
    del loss, x
    return value


def _train(loop: Any) -> list[float]:
    model, optimizer = _model()
    losses = []
    for x in loop(torch.randn(8, 4) for _ in range(6)):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
