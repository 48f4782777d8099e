"""B4, control: a model that has converged has a gradient of zero, and that is right.

Symptom: none. Gradients are 0, as they are where the mistakes of ``layers_started_at_zero`` and others are made.

Why: the loss is at its least, so no direction makes it smaller. By hand: w = 2, x = 3, y = 6, loss = (w*x - y)^2 = 0,
    d loss/d w = 0; with a rate of 0.01, w stays 2. ``setup`` checks these numbers.

How it shows: stable, and no fault: what is 0 is the loss. The gradient table says ``converged``.

Fix: nothing to fix. ``fixed_step`` is the same function.
"""

from __future__ import annotations

import torch

from harness import Scenario, stable

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A model that has converged has a gradient of zero, and that is right",
    pitfall="None: the control for gradients that are zero by mistake.",
    fix="Nothing to fix.",
    tags=("gradients", "zero_gradient", "control"),
    expect=stable(),
)

X, Y = 3.0, 6.0
W = torch.tensor(2.0, requires_grad=True)
OPTIMIZER = torch.optim.SGD([W], lr=0.01)


def train() -> float:
    """One step; the loss before it."""
    OPTIMIZER.zero_grad()
    loss = (W * X - Y) ** 2
    loss.backward()
    OPTIMIZER.step()
    return loss.item()


def setup() -> None:
    assert train() == 0.0
    assert W.grad is not None
    assert (W.item(), W.grad.item()) == (2.0, 0.0)


def step(i: int) -> None:
    train()


fixed_step = step
