"""Row 26 of the behaviours: gradients that are added up where they should have been nothing."""

from __future__ import annotations

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from harness.errors import GradientError, UsageError
from harness.gradients import GradientCollector, OnExit, StaleGradient
from tests.unit.gradients.leaves import leaf


def test_row_26_what_happens_to_gradients_at_the_end_has_to_be_said() -> None:
    with pytest.raises(TypeError, match="on_exit"):
        GradientCollector(leaf())  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="'clear' is unknown") as caught:
        GradientCollector(leaf(), on_exit="clear")  # type: ignore[arg-type]

    assert "fail_if_stale" in caught.value.help


@pytest.mark.parametrize(
    ("on_exit", "expected"), [("keep", [1, 1, 1]), ("zero", [0, 0, 0]), ("none", None), ("fail_if_stale", [1, 1, 1])]
)
def test_row_26_gradients_are_afterwards_what_on_exit_says(on_exit: OnExit, expected: list[int] | None) -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit=on_exit) as collector:
        collector.backward(weight.sum())

    assert (weight.grad.tolist() if weight.grad is not None else None) == expected


@pytest.mark.parametrize("through", ["collector", "torch"])
def test_row_26_gradients_added_up_within_a_block_are_found_with_their_factor(through: str) -> None:
    weight = leaf()

    with (
        pytest.raises(GradientError) as caught,
        GradientCollector([("weight", weight)], on_exit="fail_if_stale") as collector,
    ):
        for _ in range(3):
            collector.backward(weight.sum()) if through == "collector" else weight.sum().backward()

    assert caught.value.fault == "gradients_not_zeroed"
    assert caught.value.parameter == "weight"
    assert caught.value.factor == 3
    assert str(caught.value) == (
        "gradients are the sum of 3 backward passes since they were last set to nothing: 3 times what they should be "
        "(weight)"
    )
    assert weight.grad is not None
    assert weight.grad.tolist() == [3, 3, 3]


def test_row_26_gradients_added_up_over_blocks_are_found_with_their_factor() -> None:
    weight = leaf()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    collector = GradientCollector({"weight": weight}, on_exit="keep")
    for _ in range(4):
        with collector:
            collector.backward(weight.sum())
        optimizer.step()

    assert collector.stale == (
        StaleGradient(parameter="weight", passes=4, factor=4.0, at_least=False, from_before=False),
    )


@pytest.mark.parametrize("clear", ["none", "zero", "module", "replaced"])
def test_row_26_gradients_that_are_set_to_nothing_between_raise_nothing(clear: str) -> None:
    model = torch.nn.Linear(3, 1)
    for _ in range(3):
        with GradientCollector(model, on_exit="fail_if_stale") as collector:
            for _ in range(2):
                collector.backward(model(torch.ones(3)))
                for parameter in model.parameters():
                    if clear == "none":
                        parameter.grad = None
                    elif clear == "zero" and parameter.grad is not None:
                        parameter.grad.zero_()
                    elif clear == "replaced":
                        parameter.grad = torch.zeros_like(parameter)
                if clear == "module":
                    model.zero_grad()

        assert collector.stale == ()


def test_row_26_a_gradient_that_is_clipped_between_is_still_the_same_sum() -> None:
    weight = leaf()

    with (
        pytest.raises(GradientError, match="sum of 2 backward passes"),
        GradientCollector(weight, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(weight.sum())
        torch.nn.utils.clip_grad_norm_([weight], 0.1)
        collector.backward(weight.sum())


def test_row_26_accumulation_on_purpose_is_said_and_raises_nothing_until_it_is_too_much() -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="fail_if_stale", accumulate=2)
    for _ in range(2):
        with collector:
            collector.backward(weight.sum() / 2)

    with (
        pytest.raises(GradientError, match=r"of 4 .* where 2 are accumulated on purpose: 2 times") as caught,
        collector,
    ):
        for _ in range(2):
            collector.backward(weight.sum() / 2)

    assert caught.value.factor == 2


def test_row_26_a_sum_that_is_set_to_nothing_at_last_was_too_large_all_the_same() -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="none") as collector:
        for _ in range(5):
            collector.backward(weight.sum())
        weight.grad = None

    assert [stale.factor for stale in collector.stale] == [5]


def test_row_26_a_backward_outside_of_any_collector_is_counted_as_at_least_one() -> None:
    weight = leaf()
    weight.sum().backward()

    with (
        pytest.raises(GradientError, match="the sum of at least 2 backward passes"),
        GradientCollector(weight, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(weight.sum())


def test_row_26_a_gradient_zeroed_and_filled_outside_does_not_keep_its_old_count() -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="keep")
    with collector:
        for _ in range(5):
            collector.backward(weight.sum())
    assert weight.grad is not None
    weight.grad.zero_()
    weight.sum().backward()

    with collector:
        collector.backward(weight.sum())

    assert [(stale.passes, stale.at_least) for stale in collector.stale] == [(2, True)]


def test_row_26_an_older_gradient_of_a_parameter_that_this_block_does_not_use_is_stale() -> None:
    used, unused = leaf(), leaf()
    unused.sum().backward()

    with (
        pytest.raises(GradientError, match="nothing in the block replaced them") as caught,
        GradientCollector({"used": used, "unused": unused}, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(used.sum())

    assert caught.value.parameters == ("unused",)
    assert collector.untouched == ("unused",)


def test_row_26_an_exception_of_the_block_goes_on_its_way_with_the_finding_as_a_note() -> None:
    weight = leaf()

    with (
        pytest.raises(KeyError) as caught,
        GradientCollector(weight, on_exit="fail_if_stale") as collector,
    ):
        collector.backward(weight.sum())
        collector.backward(weight.sum())
        raise KeyError("mine")

    assert any("sum of 2 backward passes" in note for note in caught.value.__notes__)


def test_row_26_a_backward_inside_a_backward_is_no_pass_of_its_own() -> None:
    linear = torch.nn.Linear(3, 3)
    batch = torch.ones(3, requires_grad=True)

    with GradientCollector(linear, on_exit="fail_if_stale") as collector:
        once = checkpoint(linear, batch, use_reentrant=True)
        collector.backward(checkpoint(linear, once, use_reentrant=True).sum())

    assert collector.stale == ()


def test_row_26_sparse_gradients_are_counted_too() -> None:
    table = torch.nn.Embedding(4, 2, sparse=True)

    with (
        pytest.raises(GradientError, match="sum of 2 backward passes"),
        GradientCollector(table, on_exit="fail_if_stale") as collector,
    ):
        for _ in range(2):
            collector.backward(table(torch.tensor([1])).sum())
