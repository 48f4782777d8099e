"""A3: a result that is made from a parameter is put into the parameter's scope.

Symptom: memory grows by one result a step, although each request has a scope of its own and closes it.

Why: the layer knows only the scope that it was built in. What it makes from its weight it puts where the weight is, and
    that scope lives as long as the model, not as long as the request.

How it shows: leak, cause scope_not_closed, naming the model's scope: one storage of 16 KiB a step from ``scaled``.

Fix: results belong to the innermost scope, which is the request's. A layer hands a result to nobody; whoever wants it
    to live on says ``scope.keep(result)``.
"""

from __future__ import annotations

import torch

from harness import ResourceScope, Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A result is put into the scope of the parameter that it was made from",
    pitfall="The scope of a parameter outlives every request; so does a result that is put there.",
    fix="Leave results to the innermost scope, and hand on with keep() what must outlive it.",
    tags=("memory", "scope"),
    expect=leak("scope_not_closed"),
)

MODEL = ResourceScope("model")
WEIGHT = MODEL.own(torch.randn(64, 64))


def scaled(owner: ResourceScope, factor: float) -> torch.Tensor:
    return owner.own(WEIGHT * factor)


def step(i: int) -> None:
    with MODEL.child("request"):
        scaled(MODEL, 0.5)


def fixed_step(i: int) -> None:
    with MODEL.child("request") as request:
        scaled(request, 0.5)
