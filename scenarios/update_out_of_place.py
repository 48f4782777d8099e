"""A7: a parameter update makes new storages instead of changing the old one.

Symptom: the update of a model takes as much memory again as the model, for a moment, and the allocator is busy.

Why: ``w - rate * g`` makes two storages, one for the product and one for the difference. ``w.sub_(g * rate)`` makes
    one. ``w.sub_(g, alpha=rate)`` makes none. (A rate that is a Python number takes part as a tensor too, in storages
    of a few bytes more; the RATE here is one already, so that the counts are what they are for.)

How it shows: more_allocations: three storages a step against one, the gradient itself.

Fix: change the parameter in place, under ``torch.no_grad()``, with the operator that scales as it subtracts.
"""

from __future__ import annotations

from collections.abc import Callable

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
RATE = torch.tensor(1e-6)

UPDATES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "w - rate * g": lambda w, g: w - RATE * g,
    "w.sub_(g * rate)": lambda w, g: w.sub_(g * RATE),
    "w.sub_(g, alpha=rate)": lambda w, g: w.sub_(g, alpha=1e-6),
}


def gradient() -> torch.Tensor:
    return PARAMETERS["w"].sign()


def step(i: int) -> None:
    with torch.no_grad():
        PARAMETERS["w"] = UPDATES["w - rate * g"](PARAMETERS["w"], gradient())


def fixed_step(i: int) -> None:
    with torch.no_grad():
        UPDATES["w.sub_(g, alpha=rate)"](PARAMETERS["w"], gradient())
