"""B3: what a layer computes is detached on its way to the loss.

Symptom: the loss falls, but one part of the model never changes. Nothing is raised.

Why: ``detach()``, ``.data``, ``.item()``, a copy by ``torch.tensor(x)``: each gives the numbers without where they came
    from. Backward stops there, and the layers before it keep ``grad`` None. The optimizer skips them without a word.

How it shows: fault null_gradient, reason ``detached``, with the parameters that get nothing and the line that cuts.

Fix: hand on the tensor itself. Detach only copies for logs, or targets that no gradient is to reach.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="What a layer computes is detached on its way to the loss",
    pitfall="detach() gives the numbers without where they came from: backward stops there.",
    fix="Hand on the tensor itself; detach only what no gradient is to reach.",
    tags=("gradients", "null_gradient"),
    expect=fault("null_gradient"),
)

BATCH, TARGET = torch.randn(16, 4), torch.randn(16, 1)
ENCODER = torch.nn.Linear(4, 8)
HEAD = torch.nn.Linear(8, 1)
OPTIMIZER = torch.optim.SGD([*ENCODER.parameters(), *HEAD.parameters()], lr=0.01)


def train(features: torch.Tensor) -> None:
    OPTIMIZER.zero_grad()
    (HEAD(features) - TARGET).square().mean().backward()
    OPTIMIZER.step()


def step(i: int) -> None:
    train(ENCODER(BATCH).detach())


def fixed_step(i: int) -> None:
    train(ENCODER(BATCH))
