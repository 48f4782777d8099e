"""B10: (n, 1) minus (n,) is (n, n), and torch says nothing.

Symptom: the loss has a plausible value and the model learns the mean of the targets. Memory peaks far above need.

Why: a model of one output gives the shape (1000, 1), the targets have the shape (1000,). Broadcasting takes them as a
    column and a row: every prediction minus every target, a million differences, 4 MB instead of 4 kB.

How it shows: fault shape_mismatch, reason ``silent``, with the line, both shapes, and how many numbers came of it.

Fix: ``predicted.squeeze(1)``, or targets of shape (n, 1). Compare shapes before the loss.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="(n, 1) minus (n,) is (n, n), and torch says nothing",
    pitfall="Broadcasting takes them as a column and a row: every prediction minus every target.",
    fix="Squeeze the predictions or unsqueeze the targets; compare shapes before the loss.",
    tags=("gradients", "shape"),
    expect=fault("shape_mismatch"),
)

BATCH, TARGETS = torch.randn(1000, 4), torch.randn(1000)
MODEL = torch.nn.Linear(4, 1)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.01)


def train(predicted: torch.Tensor) -> None:
    OPTIMIZER.zero_grad()
    (predicted - TARGETS).square().mean().backward()
    OPTIMIZER.step()


def step(i: int) -> None:
    train(MODEL(BATCH))


def fixed_step(i: int) -> None:
    train(MODEL(BATCH).squeeze(1))
