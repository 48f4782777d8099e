"""B12: a derivative that was written by hand is wrong, and everything runs.

Symptom: training is slow or odd. Nothing is raised: backward takes whatever the function gives it.

Why: a ``torch.autograd.Function`` has a backward of its own, and nobody compares it with the forward. Here it forgets
    the factor 2 of d(x*x)/dx. The central difference (f(x+h) - f(x-h)) / 2h needs the forward only.

How it shows: fault gradient_wrong, from ``harness.check_gradients``: which input, which element, what backward says,
    what the values say, and by how much it is off. It refuses float32, where the difference has no digits left.

Fix: the right derivative, and a test that calls ``check_gradients`` in float64.
"""

from __future__ import annotations

from typing import Any

import torch

from harness import Scenario, check_gradients, gradient_wrong

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A derivative that was written by hand is wrong, and everything runs",
    pitfall="Nobody compares a hand-written backward with its forward.",
    fix="Write the right derivative, and check it in a test, in float64.",
    tags=("gradients",),
    expect=gradient_wrong(),
)

X = torch.tensor([3.0, -1.0], dtype=torch.float64, requires_grad=True)


class Square(torch.autograd.Function):
    factor = 1.0

    @classmethod
    def forward(cls, context: Any, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return x * x

    @classmethod
    def backward(cls, context: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = context.saved_tensors
        result: torch.Tensor = gradient * cls.factor * x
        return result


class RightSquare(Square):
    factor = 2.0


def square(x: torch.Tensor) -> Any:
    return Square.apply(x)  # type: ignore[no-untyped-call]


def right_square(x: torch.Tensor) -> Any:
    return RightSquare.apply(x)  # type: ignore[no-untyped-call]


def step(i: int) -> None:
    check_gradients(square, X)


def fixed_step(i: int) -> None:
    check_gradients(right_square, X)
