"""B12, control: gradients that can be computed by hand, and that backward, the values and the paper agree on.

Symptom: none.

Why: one neuron: w1 = 0.5, w2 = -0.3, b = 0.1, x = (2, 1.5), target 0.8. The weighted sum is 0.55, the output 0.65, the
    loss 0.0225; d/dw1 = -0.6, d/dw2 = -0.45, d/db = -0.3. The central difference of x*x at 3 is 6; of x*x + y*y at
    (3, 4) it is (6, 8). Two layers with an activation, or a convolution with pooling, are too long for paper: there
    every gradient has its parameter's shape.

How it shows: stable, both halves. The numbers are checked by the functions below, each in a test.

Fix: nothing to fix. ``fixed_step`` is the same function.
"""

from __future__ import annotations

import torch

from harness import Scenario, central_difference, check_gradients, stable

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Gradients by hand, by backward and by central differences agree",
    pitfall="None: the control for derivative_wrong.",
    fix="Nothing to fix.",
    tags=("gradients", "control"),
    expect=stable(),
)

X, TARGET = torch.tensor([2.0, 1.5], dtype=torch.float64), 0.8
W = torch.tensor([0.5, -0.3], dtype=torch.float64, requires_grad=True)
B = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
POINT = torch.tensor([3.0, 4.0], dtype=torch.float64)
LAYERS = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
CONVOLUTION = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(2), torch.nn.Flatten(1))


def weighted() -> torch.Tensor:
    return (W * X).sum()


def loss() -> torch.Tensor:
    return (weighted() + B - TARGET) ** 2


def gradients() -> list[float]:
    """d/dw1, d/dw2, d/db."""
    for leaf in (W, B):
        leaf.grad = None
    loss().backward()
    assert W.grad is not None
    assert B.grad is not None
    return [*W.grad.tolist(), B.grad.item()]


def slopes() -> list[float]:
    """Of x*x + y*y at (3, 4), from its values alone."""
    found: list[float] = central_difference(lambda point: point.square().sum(), POINT, step=1e-5).tolist()
    return found


def shapes_of(model: torch.nn.Module, batch: torch.Tensor) -> list[tuple[torch.Size, torch.Size]]:
    """Each parameter's shape, and its gradient's."""
    model.zero_grad()
    model(batch).square().mean().backward()
    return [(p.shape, p.grad.shape) for p in model.parameters() if p.grad is not None]


def step(i: int) -> None:
    gradients()
    check_gradients(lambda w, b: ((w * X).sum() + b - TARGET) ** 2, (W, B))


fixed_step = step
