"""B7: numbers are made as integers, and a mean or a gradient is asked of them.

Symptom: "mean(): could not infer output dtype", or "only Tensors of floating point dtype can require gradients".

Why: ``torch.arange(1, 5)`` and ``torch.tensor([1, 2])`` are int64: torch takes the type of the numbers that it is
    given. An integer has no gradient, and a mean of integers is no integer. By hand, as floats: 2x + 1 of 1..4 is
    [3, 5, 7, 9], and the mean is 6. ``setup`` checks that.

How it shows: fault dtype_mismatch, with the tensor's name and type.

Fix: say the type where the numbers are made: ``torch.arange(1, 5, dtype=torch.float32)``, ``torch.tensor([1.0, 2.0])``.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Numbers are made as integers, and a mean is asked of them",
    pitfall="torch takes the type of the numbers that it is given, and integers have no mean and no gradient.",
    fix="Say the type where the numbers are made: dtype=torch.float32.",
    tags=("gradients", "dtype"),
    expect=fault("dtype_mismatch"),
)


def line(x: torch.Tensor) -> torch.Tensor:
    return 2 * x + 1


def setup() -> None:
    values = line(torch.arange(1, 5, dtype=torch.float32))
    assert values.tolist() == [3, 5, 7, 9]
    assert values.mean().item() == 6


def step(i: int) -> None:
    values = line(torch.arange(1, 5))
    values.mean()


def fixed_step(i: int) -> None:
    values = line(torch.arange(1, 5, dtype=torch.float32))
    values.mean()
