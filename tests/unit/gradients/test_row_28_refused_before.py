"""Row 28 of the behaviours: no backward that would be silently wrong."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from harness.errors import GradientContextError, GradientError
from harness.gradients import GradientCollector
from tests.unit.gradients.leaves import leaf


def test_row_28_a_loss_of_several_elements_is_refused_before_backward_runs() -> None:
    weight = leaf()

    with GradientCollector({"weight": weight}, on_exit="none") as collector:
        with pytest.raises(GradientError) as caught:
            collector.backward(weight * 2)

        assert weight.grad is None
    assert (caught.value.fault, caught.value.parameter) == ("non_scalar_loss", "weight")
    assert "has 3 elements (shape (3,))" in str(caught.value)
    assert "differ by the factor 3" in caught.value.help


def test_row_28_an_explicit_gradient_says_how_the_elements_are_weighed() -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="keep") as collector:
        collector.backward(weight * 2, torch.tensor([1.0, 0.0, 3.0]))

    assert weight.grad is not None
    assert weight.grad.tolist() == [2, 0, 6]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1)])
def test_row_28_one_element_of_any_shape_is_accepted(shape: tuple[int, ...]) -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="keep") as collector:
        collector.backward(weight.sum().reshape(shape))

    assert weight.grad is not None
    assert weight.grad.tolist() == [1, 1, 1]


def test_row_28_a_parameter_that_is_the_loss_itself_is_accepted() -> None:
    weight = leaf(2.0)

    with GradientCollector(weight, on_exit="keep") as collector:
        collector.backward(weight)

    assert weight.grad is not None
    assert weight.grad.tolist() == [1]


def no_grad_loss(w: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return w.sum()


def inference_loss(w: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return w.sum()


def loss_of_another(w: torch.Tensor) -> torch.Tensor:
    return (w.detach() * leaf()).sum()


@pytest.mark.parametrize(
    ("loss_of", "reason"),
    [
        (lambda w: w.sum().detach(), "the loss has no graph"),
        (lambda w: torch.ones(()), "the loss has no graph"),
        (no_grad_loss, "the loss has no graph"),
        (inference_loss, "made under torch.inference_mode()"),
        (lambda w: w.sum().long(), "the loss is of torch.int64"),
        (loss_of_another, "the loss's graph does not lead to it"),
        (lambda w: leaf(5.0), "the loss's graph does not lead to it"),
        (lambda w: w.sum().item(), "the loss is of type float"),
    ],
)
def test_row_28_a_loss_without_a_way_to_any_parameter_is_refused_with_the_reason(
    loss_of: Callable[[torch.Tensor], torch.Tensor], reason: str
) -> None:
    weight = leaf()

    with GradientCollector({"weight": weight}, on_exit="keep") as collector, pytest.raises(GradientError) as caught:
        collector.backward(loss_of(weight))

    assert (caught.value.fault, caught.value.parameter) == ("null_gradient", "weight")
    assert "weight" in str(caught.value)
    assert reason in str(caught.value)
    assert weight.grad is None


def test_row_28_gradients_turned_off_inside_the_block_are_the_reason_that_is_given() -> None:
    weight = leaf()

    with GradientCollector(weight, on_exit="keep") as collector:
        torch.set_grad_enabled(False)
        with pytest.raises(GradientError, match="turned off here, inside the collector's block"):
            collector.backward(weight.sum())


def test_row_28_parameters_that_are_frozen_are_named_with_that_reason() -> None:
    model = torch.nn.Linear(3, 1).requires_grad_(False)

    with GradientCollector(model, on_exit="keep") as collector:
        loss = model(torch.ones(3)) * leaf(1.0)
        with pytest.raises(GradientError, match="weight and bias: it does not require a gradient"):
            collector.backward(loss)


def test_row_28_a_parameter_that_is_no_leaf_is_named_even_where_others_are_reached() -> None:
    ready, scaled = leaf(), leaf() * 0.1

    with GradientCollector({"ready": ready, "scaled": scaled}, on_exit="keep") as collector:
        loss = (ready * scaled).sum()
        with pytest.raises(GradientError, match="scaled: it is no leaf but the result of MulBackward0") as caught:
            collector.backward(loss)

    assert caught.value.parameters == ("scaled",)
    assert ready.grad is None


def test_row_28_a_parameter_unfrozen_inside_the_block_is_followed() -> None:
    weight = torch.ones(3)

    with GradientCollector(weight, on_exit="keep") as collector:
        weight.requires_grad_()
        collector.backward(weight.sum())

        assert collector.untouched == ()


def test_row_28_one_way_to_one_parameter_is_enough_and_the_others_are_listed() -> None:
    used, unused = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)

    with GradientCollector(torch.nn.ModuleDict({"a": used, "b": unused}), on_exit="none") as collector:
        collector.backward(used(torch.ones(3)))

    assert collector.untouched == ("b.weight", "b.bias")


def test_row_28_a_way_hidden_in_a_reentrant_checkpoint_is_not_refused() -> None:
    linear = torch.nn.Linear(3, 1)

    with GradientCollector(linear, on_exit="keep") as collector:
        collector.backward(checkpoint(linear, torch.ones(3, requires_grad=True), use_reentrant=True))

    assert linear.weight.grad is not None


def test_row_28_looking_for_a_way_needs_no_recursion_and_runs_no_unpack_hook() -> None:
    other, weight = leaf(), leaf()
    unpacked: list[int] = []

    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        unpacked.append(1)
        return tensor

    with GradientCollector(weight, on_exit="keep") as collector:
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            deep = other
            for _ in range(20_000):
                deep = deep * deep  # two edges a node: 2 ** 20,000 ways
            loss = deep.sum()
        with pytest.raises(GradientError, match="does not lead to it"):
            collector.backward(loss)

    assert unpacked == []


def test_row_28_an_error_that_is_kept_holds_no_graph() -> None:
    weight = leaf()
    with GradientCollector(weight, on_exit="keep") as collector:
        product = weight * 2
        held = weakref.ref(product)
        errors = []
        try:
            collector.backward(product)
        except GradientError as error:
            errors.append(error)
        del product
        frames = errors[0].__traceback__
        assert frames is not None
        errors[0].__traceback__ = frames.tb_next  # without this test's own frame

        assert held() is None


def test_row_28_backward_outside_of_the_block_is_refused() -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="keep")

    with pytest.raises(GradientContextError, match="outside of its block"):
        collector.backward(weight.sum())
    with collector:
        pass
    with pytest.raises(GradientContextError, match="outside of its block"):
        collector.backward(weight.sum())
