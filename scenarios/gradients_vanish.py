"""B11: gradients vanish on their way through many layers, while the loss falls.

Symptom: the loss falls, so all seems well. The first layers stay as they were made: only the last ones learn.

Why: the slope of a sigmoid is 1/4 at most. Each layer multiplies the gradient by it once more, and after eight layers
    hardly anything is left of what the first one is to learn from.

How it shows: stable, both halves. The gradient table (``gradients`` in the report) says ``vanishing`` for the first
    layers' weights, and ``healthy`` for all of them in ``fixed_step``.

Fix: an activation with a slope of 1 (relu) and weights that are started to match; normalisation; skip connections.
"""

from __future__ import annotations

import torch

from harness import Scenario, stable

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Gradients vanish on their way through many layers, while the loss falls",
    pitfall="A sigmoid's slope is 1/4 at most, and each layer multiplies by it once more.",
    fix="Use relu with weights started to match, normalisation, or skip connections.",
    tags=("gradients", "health"),
    expect=stable(),
)

BATCH, TARGET = torch.randn(16, 8), torch.randn(16, 1)
DEPTH = 8


def deep(activation: type[torch.nn.Module]) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for _ in range(DEPTH):
        linear = torch.nn.Linear(8, 8)
        if activation is torch.nn.ReLU:
            torch.nn.init.kaiming_normal_(linear.weight)
        layers += [linear, activation()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))


SIGMOID, RELU = deep(torch.nn.Sigmoid), deep(torch.nn.ReLU)
SIGMOID_OPTIMIZER = torch.optim.SGD(SIGMOID.parameters(), lr=0.001)
RELU_OPTIMIZER = torch.optim.SGD(RELU.parameters(), lr=0.001)


def train(model: torch.nn.Sequential, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    (model(BATCH) - TARGET).square().mean().backward()
    optimizer.step()


def step(i: int) -> None:
    train(SIGMOID, SIGMOID_OPTIMIZER)


def fixed_step(i: int) -> None:
    train(RELU, RELU_OPTIMIZER)
