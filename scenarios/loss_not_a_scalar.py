"""B6: backward is called on a loss of many numbers.

Symptom: "grad can be implicitly created only for scalar outputs".

Why: backward starts from one number. For 16 of them it would have to be told what each one weighs. ``mean()`` and
    ``sum()`` both make one number, and differ by the factor 16: the rate that fits one is wrong for the other. A tensor
    of one element is fine in any shape.

How it shows: fault non_scalar_loss, with the loss's name and shape.

Fix: reduce it: ``loss.mean().backward()``. Or say what each element weighs: ``loss.backward(weights)``.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Backward is called on a loss of many numbers",
    pitfall="Backward starts from one number, and is not told what each of many weighs.",
    fix="Reduce the loss: mean() or sum(), which differ by the number of elements.",
    tags=("gradients",),
    expect=fault("non_scalar_loss"),
)

BATCH, TARGET = torch.randn(16, 4), torch.randn(16)
MODEL = torch.nn.Linear(4, 1)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.01)


def losses() -> torch.Tensor:
    predicted: torch.Tensor = MODEL(BATCH)
    return (predicted.squeeze(1) - TARGET).square()


def setup() -> None:
    OPTIMIZER.zero_grad()
    losses().mean().reshape(1, 1).backward()  # one element, whatever its shape


def step(i: int) -> None:
    OPTIMIZER.zero_grad()
    loss = losses()
    loss.backward()
    OPTIMIZER.step()


def fixed_step(i: int) -> None:
    OPTIMIZER.zero_grad()
    loss = losses().mean()
    loss.backward()
    OPTIMIZER.step()
