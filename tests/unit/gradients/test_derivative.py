"""Central differences: the numbers by hand, a planted wrong derivative, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness import check_gradients
from harness.errors import GradientError, UsageError
from harness.gradients import central_difference


def double(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


class Product(torch.autograd.Function):
    """x*x*y, whose derivative by y is twice what it should be."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x, y)
        return x * x * y

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = context.saved_tensors
        return gradient * 2 * x * y, gradient * 2 * x * x


def product(x: torch.Tensor, y: torch.Tensor) -> Any:
    return Product.apply(x, y)  # type: ignore[no-untyped-call]


def test_the_slope_of_the_square_at_3_is_6_within_a_millionth() -> None:
    assert abs(central_difference(lambda x: x * x, double(3.0).squeeze(), step=1e-5).item() - 6) < 1e-6


def test_the_gradient_of_a_sum_of_squares_at_3_and_4_is_6_and_8() -> None:
    found = central_difference(lambda x: x.square().sum(), double(3.0, 4.0))

    assert found.tolist() == pytest.approx([6.0, 8.0], abs=1e-6)


def test_a_right_derivative_passes_and_its_input_is_as_it_was() -> None:
    x = double(0.3, -1.2)

    check_gradients(lambda x: x.sin() * x, x)

    assert x.tolist() == [0.3, -1.2]


def test_a_wrong_derivative_says_which_input_and_how_far_off() -> None:
    with pytest.raises(GradientError) as raised:
        check_gradients(product, (double(1.0, 3.0), double(2.0, 5.0)))

    error = raised.value
    assert (error.fault, error.parameters) == ("gradient_wrong", ("y",))
    assert error.factor == pytest.approx(2.0)
    assert "with respect to y[1] is wrong: backward says 18, the central difference 9" in str(error)
    assert "off by 9, 2 times as much" in str(error)


def test_float32_is_refused_with_the_reason() -> None:
    with pytest.raises(GradientError, match=r"x is of torch\.float32, which has 6 digits") as raised:
        check_gradients(lambda x: x * x, torch.tensor([3.0], requires_grad=True))

    assert raised.value.fault == "dtype_mismatch"
    with pytest.raises(GradientError, match="float32"):
        central_difference(lambda x: (x * x).sum(), torch.tensor([3.0]))


def test_inputs_of_which_none_requires_a_gradient_are_refused() -> None:
    with pytest.raises(GradientError, match="none of x requires a gradient") as raised:
        check_gradients(lambda x: x * x, torch.ones(2, dtype=torch.float64))

    assert raised.value.fault == "null_gradient"


def test_a_function_that_gives_other_values_each_time_is_told_so() -> None:
    turns = iter(range(10_000))

    with pytest.raises(GradientError, match="other values"):
        check_gradients(lambda x: x * next(turns), double(1.0, 2.0))


def test_a_difference_of_several_numbers_is_refused() -> None:
    with pytest.raises(UsageError, match="gives 2 numbers"):
        central_difference(lambda x: x * x, double(1.0, 2.0))


def test_something_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(UsageError, match="x is of type float"):
        check_gradients(lambda x: x, (3.0,))  # type: ignore[arg-type]
