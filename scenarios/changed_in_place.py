"""B8: a tensor that backward needs is changed in place.

Symptom: "one of the variables needed for gradient computation has been modified by an inplace operation", at backward,
    far from the line that did it.

Why: the graph keeps what its derivatives need: for ``exp`` that is its result. ``+=`` and every method whose name ends
    in ``_`` overwrite the tensor. Torch counts the changes, sees at backward that the number is not the one it noted,
    and refuses.

How it shows: fault in_place_on_graph, at the line of the change, with what was changed and what had made it.

Fix: the operator that makes a new tensor (``y + 1``). In place only on leaves, under ``no_grad``, after backward.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A tensor that backward needs is changed in place",
    pitfall="The graph keeps what its derivatives need, and += overwrites it.",
    fix="Use the operator that makes a new tensor; change in place only leaves, under no_grad.",
    tags=("gradients", "in_place"),
    expect=fault("in_place_on_graph"),
)

W = torch.randn(16, requires_grad=True)


def step(i: int) -> None:
    y = W.exp()
    y += 1
    y.sum().backward()


def fixed_step(i: int) -> None:
    W.grad = None
    y = W.exp()
    y = y + 1
    y.sum().backward()
