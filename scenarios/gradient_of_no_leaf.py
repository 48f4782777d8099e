"""B3: the weight is the result of a computation, and no leaf.

Symptom: ``w.grad`` is None although backward ran, and the next line fails: "unsupported operand type(s) ... NoneType".

Why: gradients are only kept for leaves: tensors that nothing was computed for. ``torch.randn(...) * 0.1`` is the
    result of a product, whatever ``requires_grad`` says; so is a weight after ``.to(device)``, and after
    ``w = w - rate * w.grad``. The leaf that has the gradient is the tensor before, which nobody has any more.

How it shows: fault null_gradient, reason ``not_a_leaf``, with the line that reads the gradient.

Fix: make the numbers first, then ask for gradients: ``(torch.randn(...) * 0.1).requires_grad_()``. Update in place.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="The weight is the result of a computation, and no leaf",
    pitfall="Gradients are only kept for leaves, and randn(...) * 0.1 is the result of a product.",
    fix="Ask for gradients last: (torch.randn(...) * 0.1).requires_grad_(). Update in place, under no_grad.",
    tags=("gradients", "null_gradient"),
    expect=fault("null_gradient"),
)

X = torch.randn(16, 4)
PRODUCT = torch.randn(4, requires_grad=True) * 0.1
LEAF = (torch.randn(4) * 0.1).requires_grad_()


def train(w: torch.Tensor) -> None:
    (X @ w).square().mean().backward()
    with torch.no_grad():
        w -= 0.01 * w.grad  # type: ignore[operator]  # that it may be None is the lesson
        w.grad = None


def step(i: int) -> None:
    train(PRODUCT)


def fixed_step(i: int) -> None:
    train(LEAF)
