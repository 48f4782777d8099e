"""A11: the correct pattern, to compare the others with.

Symptom: none. Memory is level from the second step on, however long it runs.

Why: there are two lifetimes and two owners. The long-lived scope owns the parameters, which last as long as the
    program; a child scope owns what one request needs, and ends with the request.

How it shows: stable. Each step allocates four storages, and none of them is alive at its end.

Fix: nothing to fix. ``fixed_step`` is the same function, so this file also shows what two equal halves look like.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from harness import Scenario, stable

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Parameters in a long-lived scope, each request in a child scope",
    pitfall="None: the control that the other scenarios are compared with.",
    fix="Nothing to fix.",
    tags=("memory", "scope", "control"),
    expect=stable(),
)

Scope = list[torch.Tensor]
"""What a scope comes down to here: the tensors that it owns."""


@contextmanager
def opened() -> Iterator[Scope]:
    scope: Scope = []
    try:
        yield scope
    finally:
        scope.clear()


PARAMETERS: Scope = [torch.randn(64, 64), torch.randn(64)]


def step(i: int) -> None:
    weight, bias = PARAMETERS
    with opened() as request:
        request.append(torch.randn(32, 64))
        request.append(request[-1] @ weight)
        request.append(request[-1] + bias)
        request.append(request[-1].relu())


fixed_step = step
