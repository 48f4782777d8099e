"""B3: the forward runs without gradients, in a thread of its own.

Symptom: backward runs, and one part of the model gets no gradient, although the training code turns gradients on.

Why: grad mode belongs to the thread. Turning it on here does nothing there: the worker runs under the ``no_grad`` (or
    ``inference_mode``) that it set itself, and every new thread starts with gradients on, whatever its parent had.

How it shows: fault null_gradient, reason ``no_grad``, with the line and the thread's name.

Fix: set grad mode in each thread, and only for what is inference.
"""

from __future__ import annotations

from threading import Thread

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="The forward runs without gradients, in a thread of its own",
    pitfall="Grad mode belongs to the thread: what is set here does nothing there.",
    fix="Set grad mode in each thread, and turn it off only for inference.",
    tags=("gradients", "null_gradient", "threads"),
    expect=fault("null_gradient"),
)

BATCH, TARGET = torch.randn(16, 4), torch.randn(16, 1)
ENCODER = torch.nn.Linear(4, 8)
HEAD = torch.nn.Linear(8, 1)
OPTIMIZER = torch.optim.SGD([*ENCODER.parameters(), *HEAD.parameters()], lr=0.01)


def encoded(*, gradients: bool) -> torch.Tensor:
    """What a worker thread makes of the batch; it sets its own grad mode."""
    results: list[torch.Tensor] = []

    def work() -> None:
        with torch.set_grad_enabled(gradients):
            results.append(ENCODER(BATCH))

    worker = Thread(target=work, name="encoder")
    worker.start()
    worker.join()
    return results[0]


def train(features: torch.Tensor) -> None:
    OPTIMIZER.zero_grad()
    (HEAD(features) - TARGET).square().mean().backward()
    OPTIMIZER.step()


def step(i: int) -> None:
    with torch.enable_grad():
        train(encoded(gradients=False))


def fixed_step(i: int) -> None:
    train(encoded(gradients=True))
