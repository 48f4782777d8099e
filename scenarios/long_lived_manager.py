"""A2: one long-lived scope owns what each request needs.

Symptom: memory grows with the number of requests, although every function closes what it opens.

Why: the scope that was opened for the parameters is at hand, so requests put their tensors there too. It lives as
    long as the program, and so does everything that it was given.

How it shows: leak, cause scope_not_closed, naming the one scope that stays open over all steps and the line that opened
    it: one storage of 8 KiB a step, allocated in ``answer``.

Fix: a child scope for each request. The long-lived one keeps the parameters, and nothing else.
"""

from __future__ import annotations

import torch

from harness import ResourceScope, Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Requests put their tensors into the scope of the parameters",
    pitfall="A scope keeps what it was given until it is closed; one that is never closed keeps it for ever.",
    fix="Give each request a child scope; the long-lived one owns the parameters only.",
    tags=("memory", "scope"),
    expect=leak("scope_not_closed"),
)

MODEL = ResourceScope("model")
WEIGHT = MODEL.own(torch.randn(64, 64))


def answer(scope: ResourceScope) -> float:
    request = scope.own(torch.randn(32, 64))
    return (request @ WEIGHT).sum().item()


def step(i: int) -> None:
    answer(MODEL)


def fixed_step(i: int) -> None:
    with MODEL.child("request") as scope:
        answer(scope)
