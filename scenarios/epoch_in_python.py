"""C2: the language boundary is crossed for every step, where one compiled call could do the whole epoch.

Symptom: a small model trains slowly, and the advice is to put the loop into TorchScript.

Why: each operator that Python calls crosses from Python to C++ and back. A scripted epoch crosses once: ``CALLS`` has
    10 calls an epoch against 1. But the operators are the same, and in both it is they that take the time.

How it shows: stable, both halves. ``comparison.throughput_ratio`` has the ratio as it is: 1.2 to 1.7 for this model,
    and nearer to 1 the larger the batch. Not magnitudes.

Fix: larger batches, fewer operators, or ``torch.compile``, which fuses them. TorchScript is deprecated, and not
    supported on Python 3.14 and newer: there the epoch runs in Python, and a warning says so.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import torch

from harness import Scenario, stable

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="An epoch of calls from Python against one compiled call",
    pitfall="Each call crosses the language boundary; it is the operators behind it that take the time.",
    fix="Expect less than twice the speed from a scripted epoch; larger batches and fewer operators give more.",
    tags=("throughput",),
    expect=stable(),
)

CALLS = {"step": 0, "fixed_step": 0}
EPOCH = 10
X = torch.linspace(0, 1, 100)
W = torch.zeros(2)


def train(w: torch.Tensor, x: torch.Tensor) -> None:
    error = w[0] * x + w[1] - (2 * x + 1)
    w[0] -= 0.1 * (error * x).mean()
    w[1] -= 0.1 * error.mean()


def epoch(w: torch.Tensor, x: torch.Tensor, steps: int) -> None:
    for _ in range(steps):
        train(w, x)


def scripted() -> Callable[[torch.Tensor, torch.Tensor, int], None]:
    if sys.version_info >= (3, 14):
        warnings.warn("torch does not support TorchScript on Python 3.14 and newer: nothing is compiled", stacklevel=2)
        return epoch
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)
        compiled: Callable[[torch.Tensor, torch.Tensor, int], None] = torch.jit.script(epoch)
        return compiled


SCRIPTED = scripted()


def step(i: int) -> None:
    for _ in range(EPOCH):
        CALLS["step"] += 1
        train(W, X)


def fixed_step(i: int) -> None:
    CALLS["fixed_step"] += 1
    SCRIPTED(W, X, EPOCH)
