"""A7, second form: gradients are zeroed by putting new tensors of zeros in their place.

Symptom: zeroing the gradients takes as much memory again as the gradients, for a moment, and the allocator is busy.

Why: ``w.grad = torch.zeros_like(w.grad)`` makes one storage for each parameter, while the old one is still there.
    ``w.grad.zero_()`` makes none: it writes into the old one. ``w.grad = None`` makes none either and lets the old one
    go; the next backward pass then stores its gradient as it is, where it would have been added to zeros.

How it shows: more_allocations: five storages a step against one: a new gradient for each of four parameters, and a sum.

Fix: ``optimizer.zero_grad()``, which sets to None, or ``optimizer.zero_grad(set_to_none=False)``, which zeroes.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness import Scenario, more_allocations

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Gradients are zeroed by new tensors of zeros",
    pitfall="zeros_like makes a storage for each parameter; zero_() and None make none.",
    fix="Call optimizer.zero_grad(), which sets gradients to None, or zero_() on each.",
    tags=("memory", "gradients"),
    expect=more_allocations(at_least=4),
)

PARAMETERS = [torch.zeros(64, 64, requires_grad=True) for _ in range(4)]


def new_zeros(parameter: torch.Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad = torch.zeros_like(parameter.grad)


def in_place(parameter: torch.Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad.zero_()


def to_none(parameter: torch.Tensor) -> None:
    parameter.grad = None


STYLES: dict[str, Callable[[torch.Tensor], None]] = {
    "zeros_like": new_zeros,
    "zero_()": in_place,
    "None": to_none,
}


def setup() -> None:
    for parameter in PARAMETERS:
        parameter.grad = torch.ones_like(parameter)


def zero(style: str) -> None:
    PARAMETERS[0].detach().sum()  # both halves make this one storage, so that they can be compared
    for parameter in PARAMETERS:
        STYLES[style](parameter)


def step(i: int) -> None:
    zero("zeros_like")


def fixed_step(i: int) -> None:
    zero("zero_()")
