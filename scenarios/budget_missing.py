"""A9: nothing limits how much native memory a request may take.

Symptom: one request that is larger than the others takes the process with it: the system ends it, and says nothing.

Why: tensors live outside Python's heap. No garbage collector counts them and no limit of the language holds for them.

How it shows: fault budget_exceeded at the line that allocates too much, with the scope's name, its budget and what was
    in use; the process lives on.

Fix: a budget on the scope of a request, and requests that are worked on in pieces that fit into it.
"""

from __future__ import annotations

import torch

from harness import ResourceScope, Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A request takes more than its scope's budget",
    pitfall="Native memory has no limit of its own: what stops it is the operating system, by ending the process.",
    fix="Give the scope of a request a budget, and work in pieces that fit.",
    tags=("memory", "scope"),
    expect=fault("budget_exceeded"),
)

ROWS = 4096


def work(rows: int) -> float:
    return torch.ones(rows, 256).square().sum().item()


def step(i: int) -> None:
    with ResourceScope("request", budget="1 MiB"):
        work(ROWS)


def fixed_step(i: int) -> None:
    with ResourceScope("request", budget="1 MiB"):
        sum(work(256) for _ in range(ROWS // 256))
