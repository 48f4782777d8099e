"""A7: a parameter update makes new storages instead of changing the old one.

Symptom: the update of a model takes as much memory again as the model, for a moment, and the allocator is busy.

Why: ``w - rate * g`` makes two storages, one for the product and one for the difference. ``w.sub_(rate * g)`` makes
    one. ``w.sub_(g, alpha=rate)`` makes none.

How it shows: more_allocations: three storages a step against one, the gradient itself.

Fix: change the parameter in place, under ``torch.no_grad()``, with the operator that scales as it subtracts.
"""

from __future__ import annotations

import torch

from harness import Scenario, more_allocations

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A parameter update out of place makes two storages a step",
    pitfall="w - rate * g makes a storage for the product and one for the difference.",
    fix="Use w.sub_(g, alpha=rate) under torch.no_grad(): it makes none.",
    tags=("memory", "throughput"),
    expect=more_allocations(at_least=3),
)

PARAMETERS = {"w": torch.randn(256, 256)}
RATE = 1e-6


def gradient() -> torch.Tensor:
    return PARAMETERS["w"].sign()


def step(i: int) -> None:
    with torch.no_grad():
        PARAMETERS["w"] = PARAMETERS["w"] - RATE * gradient()


def fixed_step(i: int) -> None:
    with torch.no_grad():
        PARAMETERS["w"].sub_(gradient(), alpha=RATE)
