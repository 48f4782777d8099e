"""A6: numbers are copied out of tensors one by one, in every step.

Symptom: the program spends its time in Python, and the more numbers there are the slower it gets. On a GPU each copy
    also waits until all work before it is done.

Why: ``tolist()`` makes a Python object of each number, and ``numpy()`` and ``item()`` leave the tensor as well. The
    arithmetic after that is Python's, one number at a time, and ``torch.tensor(...)`` copies everything back.

How it shows: stable, both halves; ``comparison.throughput_ratio`` says how many times faster the fixed half is.
    Expected is 10 at least.

Fix: stay in tensors, and copy once at the end what a person or a file is to see.
"""

from __future__ import annotations

import torch

from harness import Scenario, slower

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Every step copies its numbers to the host and back",
    pitfall="tolist() makes a Python object of each number, and what is done with them is done one at a time.",
    fix="Stay in tensors, and copy once, at the end.",
    tags=("throughput",),
    expect=slower(at_least=10),
)

READINGS = torch.linspace(0, 1, 4096)


def step(i: int) -> None:
    scaled = torch.tensor([2 * reading + 1 for reading in READINGS.tolist()])
    sum(scaled.tolist())


def fixed_step(i: int) -> None:
    scaled = 2 * READINGS + 1
    scaled.sum().item()
