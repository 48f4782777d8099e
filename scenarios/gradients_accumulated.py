"""B1: gradients are added up because nobody sets them to zero.

Symptom: training is unstable, as if the learning rate rose by itself. Memory does not grow and nothing is raised.

Why: ``backward`` adds to ``.grad``, it does not replace it. After k backward passes without zeroing the gradient is
    k times too large. By hand: w = [0.5, -0.2], x = [1, 2], out = sum(w*x) = 0.1, and d out/d w = [1, 2]. A second
    backward pass of the same without zeroing leaves [2, 4] in ``w.grad``. ``setup`` checks these numbers.

How it shows: fault gradients_not_zeroed: the optimizer steps again on a gradient that it has already used. (Several
    backward passes before one step, the loss divided by their number, are accumulation on purpose: no fault.)

Fix: ``optimizer.zero_grad()`` before each backward pass.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Gradients are added up because nobody sets them to zero",
    pitfall="backward() adds to .grad: after k passes without zeroing the gradient is k times too large.",
    fix="Call optimizer.zero_grad() before each backward pass.",
    tags=("gradients",),
    expect=fault("gradients_not_zeroed"),
)

X = torch.tensor([1.0, 2.0])
W = torch.tensor([0.5, -0.2], requires_grad=True)
OPTIMIZER = torch.optim.SGD([W], lr=0.001)


def output() -> torch.Tensor:
    """Linear in w, so that one pass's gradient is [1, 2] wherever w has got to."""
    return (W * X).sum()


def setup() -> None:
    for expected in ([1.0, 2.0], [2.0, 4.0]):
        output().backward()
        assert W.grad is not None
        assert W.grad.tolist() == expected
    OPTIMIZER.zero_grad()


def step(i: int) -> None:
    output().backward()
    OPTIMIZER.step()


def fixed_step(i: int) -> None:
    OPTIMIZER.zero_grad()
    output().backward()
    OPTIMIZER.step()
