"""B4: results are rounded inside the model.

Symptom: gradients are there and all 0. Nothing is raised, and nothing learns.

Why: ``round`` is a staircase: flat everywhere, with jumps. Its derivative is 0, so what is before it gets 0, also where
    the loss would fall. The same holds for ``floor``, ``ceil``, ``sign`` and ``clamp`` outside of its bounds.

How it shows: fault zero_gradient, reason ``flat``, with the parameters and the line that rounds.

Fix: round for the output only. To train through it, let backward pass as if nothing was rounded (straight through):
    ``x + (x.round() - x).detach()``.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Results are rounded inside the model",
    pitfall="round is flat everywhere: its derivative is 0.",
    fix="Round for the output only, or straight through: x + (x.round() - x).detach().",
    tags=("gradients", "zero_gradient"),
    expect=fault("zero_gradient"),
)

BATCH, TARGET = torch.randn(16, 4), torch.randn(16, 1)
MODEL = torch.nn.Linear(4, 1)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.01)


def train(predicted: torch.Tensor) -> None:
    OPTIMIZER.zero_grad()
    (predicted - TARGET).square().mean().backward()
    OPTIMIZER.step()


def step(i: int) -> None:
    train(MODEL(BATCH).round())


def fixed_step(i: int) -> None:
    x = MODEL(BATCH)
    train(x + (x.round() - x).detach())
