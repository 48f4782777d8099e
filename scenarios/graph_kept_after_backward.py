"""B2, second form: a running total keeps what is left of each graph after its backward pass.

Symptom: a long training run grows by a few kB a step. Counting tensors shows nothing: their number does not change.

Why: ``backward`` frees the activations that a graph saved, but not the graph's own nodes. Those are C++ objects, and
    ``total = total + loss`` keeps one graph's nodes on top of the last one's. No tensor and no storage survives.

How it shows: leak, cause autograd_graph_retained. The heap in use grows and the number of autograd nodes reachable
    from ``total`` grows with it, while the tensor ledger stays level.

Fix: add the number and not the tensor: ``total += loss.item()`` (or ``loss.detach()``, which does not wait for a GPU).
"""

from __future__ import annotations

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A running total keeps each graph's nodes after backward",
    pitfall="backward() frees the saved activations and not the graph's nodes; total + loss keeps those of every step.",
    fix="Add the number, not the tensor: total += loss.item().",
    tags=("memory", "gradients"),
    expect=leak("autograd_graph_retained"),
)

MODEL = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.01)
BATCH = torch.randn(8, 16)

total: torch.Tensor | float = 0.0


def train() -> torch.Tensor:
    OPTIMIZER.zero_grad()
    predicted: torch.Tensor = MODEL(BATCH)
    loss = predicted.square().mean()
    loss.backward()
    OPTIMIZER.step()
    return loss


def step(i: int) -> None:
    global total
    total = total + train()


def fixed_step(i: int) -> None:
    global total
    total += train().item()
