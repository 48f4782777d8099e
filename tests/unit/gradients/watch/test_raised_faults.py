"""What torch raises, in the user's own words: names, shapes, types and devices of what met, and the line at fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness import GradientWatch
from harness.capture.fault_table import fault_of
from harness.model.recording import FaultRecord

wide, weight = torch.ones(3, 5), torch.ones(4, 2, requires_grad=True)
whole = torch.arange(8).reshape(2, 4)
elsewhere = torch.ones(4, 2, device="meta")


def explained(step: Callable[[], object]) -> FaultRecord:
    with GradientWatch() as watch:
        with pytest.raises(RuntimeError) as raised:
            step()
        known = fault_of(raised.value, 0)
        assert known is not None
        return watch.explained(known, raised.value)


def test_shapes_that_do_not_fit_are_told_with_both_names() -> None:
    fault = explained(lambda: wide @ weight)

    assert fault.fault == "shape_mismatch"
    assert "wide: float32 [3, 5] on cpu and weight: float32 [4, 2] on cpu" in fault.explanation
    assert "torch says: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)" in fault.explanation


def test_types_that_do_not_fit_are_told_with_both_names() -> None:
    fault = explained(lambda: whole @ weight)

    assert fault.fault == "dtype_mismatch"
    assert "whole: int64 [2, 4] on cpu and weight: float32 [4, 2] on cpu" in fault.explanation


def test_devices_that_do_not_fit_are_told_with_both_names() -> None:
    fault = explained(lambda: weight + elsewhere)

    assert fault.fault == "device_mismatch"
    assert "weight: float32 [4, 2] on cpu and elsewhere: float32 [4, 2] on meta" in fault.explanation


def test_a_loss_of_many_numbers_is_told_with_its_shape_and_the_factor() -> None:
    losses = weight.square()

    fault = explained(lambda: losses.backward())

    assert fault.fault == "non_scalar_loss"
    assert "losses: float32 [4, 2] on cpu: 8 elements" in fault.explanation
    assert "factor 8" in fault.explanation


def test_a_loss_of_constants_says_which_ones() -> None:
    fault = explained(lambda: wide.sum().backward())

    assert (fault.fault, fault.reason, fault.parameters) == ("null_gradient", "requires_no_grad", ("wide",))


def test_a_loss_that_was_cut_off_says_where() -> None:
    fault = explained(lambda: (weight * 2).detach().sum().backward())

    assert (fault.reason, fault.parameters) == ("detached", ("weight",))


def test_a_change_in_place_is_told_at_its_own_line() -> None:
    def step() -> None:
        y = weight.exp()
        y.mul_(2)
        y.sum().backward()

    fault = explained(step)

    assert fault.fault == "in_place_on_graph"
    assert fault.source == "y.mul_(2)"
    assert "mul_ changed the result of exp" in fault.explanation


def test_a_leaf_that_is_changed_in_place_is_named() -> None:
    fault = explained(lambda: weight.add_(1))

    assert fault.fault == "in_place_on_graph"
    assert "add_ changes weight: float32 [4, 2] on cpu in place" in fault.explanation
