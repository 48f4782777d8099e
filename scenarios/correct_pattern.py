"""A11: the correct pattern, to compare the others with.

Symptom: none. Memory is level from the second step on, however long it runs.

Why: there are two lifetimes and two owners. The long-lived scope owns the parameters, which last as long as the
    program; a child scope owns what one request needs, and ends with the request.

How it shows: stable. Each step allocates four storages, and none of them is alive at its end.

Fix: nothing to fix. ``fixed_step`` is the same function, so this file also shows what two equal halves look like.
"""

from __future__ import annotations

import torch

from harness import ResourceScope, Scenario, stable

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Parameters in a long-lived scope, each request in a child scope",
    pitfall="None: the control that the other scenarios are compared with.",
    fix="Nothing to fix.",
    tags=("memory", "scope", "control"),
    expect=stable(),
)

MODEL = ResourceScope("model")
WEIGHT, BIAS = MODEL.own((torch.randn(64, 64), torch.randn(64)))


def step(i: int) -> None:
    with MODEL.child("request", on_escape="close"):
        answer(torch.randn(32, 64))


def answer(request: torch.Tensor) -> float:
    return (request @ WEIGHT + BIAS).relu().sum().item()


def teardown() -> None:
    MODEL.close()


fixed_step = step
