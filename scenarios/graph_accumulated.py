"""B2, first form: a running total keeps the graph of every batch, activations and all.

Symptom: validation needs more memory with each batch and dies in the middle, although the model is small and no list
    is in sight.

Why: a loss carries the graph that made it. ``total = total + loss`` puts one graph on top of the last, and a graph
    that no backward pass has used still holds the activations that it saved for one.

How it shows: leak, cause autograd_graph_retained: 129 KiB of activations a step, allocated in ``loss_of``.

Fix: add the number and not the tensor: ``total += loss.item()``; and validate under ``torch.no_grad()``.
"""

from __future__ import annotations

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A running total keeps the graph of every batch",
    pitfall="total + loss puts one graph on top of the last, and a graph not yet used holds its activations.",
    fix="Add the number, not the tensor: total += loss.item().",
    tags=("memory", "gradients"),
    expect=leak("autograd_graph_retained"),
)

MODEL = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1))
BATCH = torch.randn(256, 32)

total: torch.Tensor | float = 0.0


def loss_of(batch: torch.Tensor) -> torch.Tensor:
    predicted: torch.Tensor = MODEL(batch)
    return predicted.square().mean()


def step(i: int) -> None:
    global total
    total = total + loss_of(BATCH)


def fixed_step(i: int) -> None:
    global total
    total += loss_of(BATCH).item()
