"""B14: the log keeps ``p.grad`` itself, and not what it was.

Symptom: with gradients zeroed in place, every entry of the log is 0. With gradients set to None, the log is right, and
    memory grows by the size of the model in every step.

Why: ``p.grad`` is the live tensor. ``zero_()`` writes into it, and so into every entry of the log: they are all the
    same tensor. With ``p.grad = None`` the next backward pass makes a new one, and the log keeps the old one alive.

How it shows: ``setup`` asserts the zeroed log. ``step``, with None: leak, cause held_reference: ``LOG`` keeps one
    storage of 16 KiB a step.

Fix: log a number, ``p.grad.norm().item()``; or a copy, ``p.grad.clone()``, in a log that is bounded.
"""

from __future__ import annotations

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="The log of gradients keeps p.grad itself",
    pitfall="p.grad is live: zeroed in place it turns every logged entry to 0, and replaced it stays in the log.",
    fix="Log p.grad.norm().item(), or a clone.",
    tags=("memory", "gradients"),
    expect=leak("held_reference"),
)

WEIGHT = torch.ones(64, 64, requires_grad=True)
OPTIMIZER = torch.optim.SGD([WEIGHT], lr=1e-6)
LOG: list[torch.Tensor] = []
NORMS: list[float] = []


def train(*, set_to_none: bool = True) -> torch.Tensor:
    OPTIMIZER.zero_grad(set_to_none=set_to_none)
    (2 * WEIGHT).sum().backward()
    OPTIMIZER.step()
    assert WEIGHT.grad is not None
    return WEIGHT.grad


def zeroed_log() -> list[float]:
    """What a log of three steps says after the gradients were zeroed in place: 2.0 was logged each time."""
    log = [train(set_to_none=False) for _ in range(3)]
    assert [float(gradient.max()) for gradient in log] == [2.0, 2.0, 2.0]
    OPTIMIZER.zero_grad(set_to_none=False)
    return [float(gradient.max()) for gradient in log]


def setup() -> None:
    assert zeroed_log() == [0.0, 0.0, 0.0]
    OPTIMIZER.zero_grad()


def step(i: int) -> None:
    LOG.append(train())


def fixed_step(i: int) -> None:
    NORMS.append(train().norm().item())
    del NORMS[:-4]
