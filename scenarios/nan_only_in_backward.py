"""B5: the forward is finite, and only backward is NaN.

Symptom: the loss is a plain number, and after the step every weight is NaN.

Why: ``where(z > 0, z.log(), 0)`` computes both branches and picks. The forward picks around ``log(0) = -inf``. Backward
    sends a gradient of 0 into the branch that was not picked, and the derivative of log there is infinite: 0 times
    infinity is NaN.

How it shows: fault non_finite_gradient, reason ``backward``, with the line of the operator whose backward it is.

Fix: make the input safe before the operator, and not its result after it: ``where(z > 0, z, 1).log()``.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="The forward is finite, and only backward is NaN",
    pitfall="where() computes both branches: backward sends 0 into the one not picked, times infinity.",
    fix="Make the operator's input safe, not its result: where(z > 0, z, 1).log().",
    tags=("gradients", "non_finite"),
    expect=fault("non_finite_gradient"),
)

W = torch.ones(4, requires_grad=True)
SCALE = torch.tensor([0.0, 0.5, 1.0, 2.0])
OPTIMIZER = torch.optim.SGD([W], lr=0.01)


def train(logarithms: torch.Tensor) -> None:
    OPTIMIZER.zero_grad()
    loss = logarithms.square().sum()
    assert loss.isfinite()
    loss.backward()
    OPTIMIZER.step()


def step(i: int) -> None:
    with torch.no_grad():
        W.nan_to_num_(1.0)  # so that each step's forward is finite
    z = W * SCALE
    train(torch.where(z > 0, z.log(), 0.0))


def fixed_step(i: int) -> None:
    z = W * SCALE
    train(torch.where(z > 0, z, 1.0).log())
