"""B5: the learning rate is too high, and the weights run away.

Symptom: the loss grows, then it is inf, then everything is NaN, for good.

Why: each step goes past the lowest point by more than it was away from it. By hand: x = 1..5, y = 2x, w = b = 0: the
    mean squared error is 44, d/dw = -44, d/db = -12. Rates up to 0.08452 come closer; above, each step is larger
    than the one before, until a number does not fit into 32 bits.

How it shows: fault non_finite_gradient, with the operator that made the first number that is not finite, and how much
    the gradient's norm grew in each step before it. The gradient table says ``exploding``.

Fix: a lower rate, before it happens. Afterwards the weights are lost: go back to a checkpoint.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="The learning rate is too high, and the weights run away",
    pitfall="Above a limit each step is larger than the one before, until the numbers overflow.",
    fix="Lower the rate; clip by norm with error_if_nonfinite=True, so that it stops before the weights are lost.",
    tags=("gradients", "non_finite"),
    expect=fault("non_finite_gradient"),
)

X = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
Y = 2 * X
W, B = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)


def squares() -> torch.Tensor:
    return (W * X + B - Y).square()


def train(rate: float) -> float:
    """One step of gradient descent; the loss before it."""
    optimizer = torch.optim.SGD([W, B], lr=rate)
    optimizer.zero_grad()
    loss = squares().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def setup() -> None:
    with torch.no_grad():
        W.zero_()
        B.zero_()


def step(i: int) -> None:
    train(rate=0.3)


def fixed_step(i: int) -> None:
    train(rate=0.08)
