"""C3: a large batch is trained in one piece, and all of its activations are kept until backward.

Symptom: the batch that gives the best gradient does not fit into memory.

Why: backward needs the activations of the whole batch, so a batch four times as large keeps four times as many bytes.
    The gradient of a mean is the mean of the gradients of its parts: the parts can come one after the other, and each
    lets its activations go when its own backward is done. ``.grad`` adds them up.

How it shows: higher_peak, several times; items a second stand side by side, since both halves train the same 512
    samples a step. The gradients are the same, up to rounding.

Fix: micro-batches: the loss of each divided by their number, backward after each, one optimizer step after all.
"""

from __future__ import annotations

import torch

from harness import Scenario, higher_peak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A large batch is trained in one piece, not in micro-batches",
    pitfall="Backward needs the activations of the whole batch, which are kept until it comes.",
    fix="Run backward for each part of the batch, the loss divided by their number, and step once.",
    tags=("memory", "gradients", "throughput"),
    expect=higher_peak(at_least=2),
)

ITEMS_PER_STEP = 512
PARTS = 4

MODEL = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh())
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.01)
BATCH = torch.linspace(-1, 1, ITEMS_PER_STEP * 8).reshape(ITEMS_PER_STEP, 8)


def add_gradient(parts: int) -> None:
    for part in BATCH.chunk(parts):
        loss: torch.Tensor = MODEL(part).square().mean() / parts
        loss.backward()
        del loss


def step(i: int) -> None:
    OPTIMIZER.zero_grad()
    add_gradient(parts=1)
    OPTIMIZER.step()


def fixed_step(i: int) -> None:
    OPTIMIZER.zero_grad()
    add_gradient(parts=PARTS)
    OPTIMIZER.step()
