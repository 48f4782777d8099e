"""A15: the training loop of many a tutorial: all epochs share one scope.

Symptom: each epoch leaves some memory in use, and the loop that the tutorial ran for 30 epochs dies at 3,000.

Why: the scope round the loop owns what is allocated in it until it is closed, after the last epoch. The predictions and
    the loss of an epoch are of no use after it, and nobody says so: 30 epochs keep 60 storages.

How it shows: leak, cause scope_not_closed: the scope "training" stays open over all steps, and owns two more storages
    after each, of 4 KiB and 4 bytes, allocated in ``epoch``.

Fix: a child scope for each epoch. The outer one keeps the parameters, and is closed when the trainer is.
"""

from __future__ import annotations

import torch

from harness import ResourceScope, Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Predictions and losses of all epochs share the scope round the loop",
    pitfall="The scope round a training loop owns what every epoch allocates until the loop is over.",
    fix="Open a child scope for each epoch; the outer one keeps the parameters only.",
    tags=("memory", "scope"),
    expect=leak("scope_not_closed"),
)

TRAINING = ResourceScope("training")
X = torch.linspace(0, 1, 1024)
Y = 2 * X + 1
W = TRAINING.own(torch.zeros(2))
RATE = 0.1


def epoch(scope: ResourceScope) -> None:
    predicted = scope.own(W[0] * X + W[1])
    loss = scope.own((predicted - Y).square().mean())
    assert loss.isfinite()
    slope = 2 * ((predicted - Y) * X).mean().item()
    offset = 2 * (predicted - Y).mean().item()
    W[0] -= RATE * slope
    W[1] -= RATE * offset


def step(i: int) -> None:
    epoch(TRAINING)


def fixed_step(i: int) -> None:
    with TRAINING.child("epoch") as scope:
        epoch(scope)


def teardown() -> None:
    TRAINING.close()
