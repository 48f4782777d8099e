"""A1: a scope is opened for each request and never closed.

Symptom: memory grows by one request's tensors with every request, although no code of yours keeps them.

Why: a scope owns what it is given until it is closed, and the process keeps a record of every scope that is still
    open, so that closing its parent closes it too. Nobody closes this one, so that record is what keeps the tensors.

How it shows: leak, cause scope_not_closed, with the line that opened the scopes, how many are open and how many bytes
    they own. The storages made in ``answer`` survive every step.

Fix: open the scope in a ``with`` block. It is then closed on every way out, an exception among them.
"""

from __future__ import annotations

import torch

from harness import ResourceScope, Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A scope opened for each request is never closed",
    pitfall="An open scope owns what it was given, and the process keeps a record of every scope that is still open.",
    fix="Open the scope in a with block, so that it is closed on every way out.",
    tags=("memory", "scope"),
    expect=leak("scope_not_closed"),
)

WEIGHT = torch.randn(64, 64)


def answer(scope: ResourceScope) -> torch.Tensor:
    request = scope.own(torch.randn(32, 64))
    return scope.own(request @ WEIGHT)


def step(i: int) -> None:
    answer(ResourceScope("request"))


def fixed_step(i: int) -> None:
    with ResourceScope("request") as scope:
        answer(scope)
