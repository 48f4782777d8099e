"""B1, control: gradients of several batches are summed up on purpose.

Symptom: none. It looks like the mistake of ``gradients_accumulated``: backward runs four times before one zeroing.

Why: the optimizer steps once for the four, and each loss is divided by four: their sum is the gradient of one batch of
    all 32 samples. That is how a large batch is trained where only a small one fits.

How it shows: stable, and no fault. What makes the mistake one is a step on gradients that an earlier step has used.

Fix: nothing to fix. ``fixed_step`` takes the 32 samples at once, and ``setup`` checks that the gradients are the same.
"""

from __future__ import annotations

import torch

from harness import Scenario, stable

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Gradients of several batches are summed up on purpose",
    pitfall="None: the control for gradients_accumulated.",
    fix="Nothing to fix.",
    tags=("gradients", "control"),
    expect=stable(),
)

ITEMS_PER_STEP = 32
PARTS = 4
INPUTS, TARGETS = torch.randn(ITEMS_PER_STEP, 4), torch.randn(ITEMS_PER_STEP, 1)
MODEL = torch.nn.Linear(4, 1)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.01)


def gradient(parts: int) -> list[float]:
    OPTIMIZER.zero_grad()
    for inputs, targets in zip(INPUTS.chunk(parts), TARGETS.chunk(parts), strict=True):
        loss = (MODEL(inputs) - targets).square().mean()
        (loss / parts).backward()
    assert MODEL.weight.grad is not None
    found: list[float] = MODEL.weight.grad.flatten().tolist()
    return found


def setup() -> None:
    for one, other in zip(gradient(PARTS), gradient(1), strict=True):
        assert abs(one - other) < 1e-5


def step(i: int) -> None:
    gradient(PARTS)
    OPTIMIZER.step()


def fixed_step(i: int) -> None:
    gradient(1)
    OPTIMIZER.step()
