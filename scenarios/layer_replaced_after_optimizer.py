"""B3: a layer is replaced after the optimizer was made.

Symptom: fine-tuning changes nothing, or hardly anything. The new head keeps its random numbers.

Why: an optimizer holds the tensors that it was given. Put another head in their place, and it goes on to "train" the
    old one, which nothing uses: its gradient stays None, and the optimizer skips it without a word. The new head gets
    gradients that nobody applies or sets to zero.

How it shows: fault null_gradient twice: reason ``not_used`` for the old head, ``not_registered`` for the new one.

Fix: make the optimizer last, or hand it the new layer: ``optimizer.add_param_group``.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A layer is replaced after the optimizer was made",
    pitfall="An optimizer holds the tensors that it was given; a new layer's are others.",
    fix="Make the optimizer last, or add the new layer's parameters to it.",
    tags=("gradients", "null_gradient"),
    expect=fault("null_gradient"),
)

BATCH, TARGET = torch.randn(16, 4), torch.randn(16, 1)
MODEL = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
EARLY = torch.optim.SGD(MODEL.parameters(), lr=0.01)
MODEL[2] = torch.nn.Linear(8, 1)
LATE = torch.optim.SGD(MODEL.parameters(), lr=0.01)


def train(optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    (MODEL(BATCH) - TARGET).square().mean().backward()
    optimizer.step()


def step(i: int) -> None:
    train(EARLY)


def fixed_step(i: int) -> None:
    train(LATE)
