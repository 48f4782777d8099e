"""B3: numbers become integers on their way to the loss.

Symptom: the model does not learn, or backward says "element 0 of tensors does not require grad".

Why: integers have no derivative. ``.long()``, ``argmax``, comparisons, and the way through numpy all end the graph. A
    classifier that is trained on "how many predictions are right" has no gradient at all.

How it shows: fault null_gradient, reason ``integer``, with the parameters and the line that makes integers.

Fix: a loss that is smooth in the scores: cross entropy. Count right predictions for the log only.
"""

from __future__ import annotations

import torch
from torch.nn.functional import cross_entropy

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Numbers become integers on their way to the loss",
    pitfall="Integers have no derivative: argmax, long() and comparisons end the graph.",
    fix="Train on a loss that is smooth in the scores; count right predictions for the log only.",
    tags=("gradients", "null_gradient"),
    expect=fault("null_gradient"),
)

BATCH, LABELS = torch.randn(16, 4), torch.randint(0, 3, (16,))
MODEL = torch.nn.Linear(4, 3)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.01)


def step(i: int) -> None:
    OPTIMIZER.zero_grad()
    wrong = MODEL(BATCH).argmax(dim=1) != LABELS
    wrong.float().mean().backward()
    OPTIMIZER.step()


def fixed_step(i: int) -> None:
    OPTIMIZER.zero_grad()
    cross_entropy(MODEL(BATCH), LABELS).backward()
    OPTIMIZER.step()
