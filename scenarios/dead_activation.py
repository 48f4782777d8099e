"""B4: an activation is dead: no input of it is ever above zero.

Symptom: part of the model stops learning, often after one step that was too large. The loss stays where it is.

Why: relu is flat below zero. If every input of a layer's relu is negative for every sample, its gradient is 0
    everywhere, the weights before it do not move, and so the inputs stay negative. It does not recover by itself.

How it shows: fault zero_gradient, reason ``dead_activation``, with the parameters before it and relu's line.

Fix: an activation with a slope below zero (leaky relu, GELU), a lower rate, or biases that do not start far below zero.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="An activation is dead: no input of it is ever above zero",
    pitfall="relu is flat below zero: where all inputs are negative nothing before it moves.",
    fix="Use an activation with a slope below zero, or a lower rate.",
    tags=("gradients", "zero_gradient"),
    expect=fault("zero_gradient"),
)

BATCH, TARGET = torch.randn(16, 4), torch.randn(16, 1)
HIDDEN, HEAD = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
torch.nn.init.constant_(HIDDEN.bias, -20.0)  # where one step with a rate that was too high has left it
OPTIMIZER = torch.optim.SGD([*HIDDEN.parameters(), *HEAD.parameters()], lr=0.01)


def train(hidden: torch.Tensor) -> None:
    OPTIMIZER.zero_grad()
    (HEAD(hidden) - TARGET).square().mean().backward()
    OPTIMIZER.step()


def step(i: int) -> None:
    train(HIDDEN(BATCH).relu())


def fixed_step(i: int) -> None:
    train(torch.nn.functional.leaky_relu(HIDDEN(BATCH)))
