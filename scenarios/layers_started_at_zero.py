"""B4: two layers start at zero, and neither ever moves.

Symptom: the loss does not change at all, from the first step on. Gradients are there, and all of them are 0.

Why: the gradient of one factor is the other one. Where both layers are 0, each multiplies the other's gradient by 0, so
    neither moves, and it stays so. A factor 0 anywhere on the way, as in ``(w * 0).sum()``, does the same.

How it shows: fault zero_gradient for both weights, reason ``zero_factor``, with the line where it dies and what is 0.

Fix: start at most one of two layers at zero (that is what low-rank adapters do), and the other at random.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Two layers start at zero, and neither ever moves",
    pitfall="The gradient of one factor is the other: where both are 0, neither moves.",
    fix="Start at most one of the two at zero, and the other at random.",
    tags=("gradients", "zero_gradient"),
    expect=fault("zero_gradient"),
)

BATCH, TARGET = torch.randn(16, 4), torch.randn(16, 1)


def adapter(*, first_at_zero: bool) -> torch.nn.Sequential:
    first, second = torch.nn.Linear(4, 2, bias=False), torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(second.weight)
    if first_at_zero:
        torch.nn.init.zeros_(first.weight)
    return torch.nn.Sequential(first, second)


ZERO, RANDOM = adapter(first_at_zero=True), adapter(first_at_zero=False)
ZERO_OPTIMIZER = torch.optim.SGD(ZERO.parameters(), lr=0.01)
RANDOM_OPTIMIZER = torch.optim.SGD(RANDOM.parameters(), lr=0.01)


def train(model: torch.nn.Sequential, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    (model(BATCH) - TARGET).square().mean().backward()
    optimizer.step()


def step(i: int) -> None:
    train(ZERO, ZERO_OPTIMIZER)


def fixed_step(i: int) -> None:
    train(RANDOM, RANDOM_OPTIMIZER)
