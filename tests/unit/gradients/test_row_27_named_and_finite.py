"""Row 27 of the behaviours: only the named parameters, and whether their gradients are finite."""

from __future__ import annotations

import math

import pytest
import torch

from harness.errors import GradientError
from harness.gradients import GradientCollector, NonFinite, OnExit
from tests.unit.gradients.leaves import leaf


@pytest.mark.parametrize("on_exit", ["zero", "none"])
def test_row_27_only_the_named_parameters_are_set_to_nothing(on_exit: OnExit) -> None:
    named, other = leaf(), leaf()

    with GradientCollector(named, on_exit=on_exit) as collector:
        collector.backward((named * other).sum())

    assert other.grad is not None
    assert other.grad.tolist() == [1, 2, 3]
    assert named.grad is None or named.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("on_exit", ["zero", "none"])
def test_row_27_gradients_that_are_not_finite_are_named_and_none_stays_behind(on_exit: OnExit) -> None:
    good, bad = leaf(), leaf(0.0, 1.0, 0.0)

    with (
        pytest.raises(GradientError) as caught,
        GradientCollector({"good": good, "bad": bad}, on_exit=on_exit) as collector,
    ):
        collector.backward(good.sum() + bad.log().sum())

    assert caught.value.fault == "non_finite_gradient"
    assert caught.value.parameters == ("bad",)
    assert str(caught.value) == "the gradients of these parameters are NaN or infinite: bad (2 of 3 numbers)"
    for parameter in (good, bad):
        assert parameter.grad is None or parameter.grad.tolist() == [0, 0, 0]


def test_row_27_zero_writes_over_the_gradient_where_it_is_and_none_lets_it_be() -> None:
    weight = leaf()
    kept: list[torch.Tensor] = []
    for on_exit in ("zero", "none"):
        with GradientCollector(weight, on_exit=on_exit) as collector:
            collector.backward(weight.sum())
            assert weight.grad is not None
            kept.append(weight.grad)

    assert kept[0] is kept[1]  # zeroed in place, and filled again
    assert kept[1].tolist() == [1, 1, 1]
    assert weight.grad is None


def test_row_27_zero_leaves_no_graph_and_no_nan_after_a_gradient_that_has_a_graph() -> None:
    weight = leaf()
    with pytest.raises(GradientError, match="3 of 3"), GradientCollector(weight, on_exit="zero"):
        weight.grad = (weight * math.nan).exp()

    assert weight.grad is not None
    assert (weight.grad.tolist(), weight.grad.requires_grad) == ([0, 0, 0], False)


def test_row_27_before_a_step_the_check_can_be_asked_for() -> None:
    weight = leaf(math.inf)

    with GradientCollector({"weight": weight}, on_exit="keep") as collector:
        collector.backward((weight * weight).sum())

        assert collector.non_finite() == (NonFinite(parameter="weight", non_finite=1, elements=1),)
        with pytest.raises(GradientError, match="weight"):
            collector.check_finite()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_row_27_a_large_finite_gradient_is_finite_in_any_type(dtype: torch.dtype) -> None:
    weight = torch.ones(3, dtype=dtype, requires_grad=True)

    with GradientCollector(weight, on_exit="none") as collector:
        collector.backward((weight * 6e4).real.sum() if dtype.is_complex else (weight * 6e4).sum())

    assert weight.grad is None
