"""A12, third form: two threads train one module at the same time.

Symptom: training with threads does not converge as it did, and never twice in the same way.

Why: ``.grad`` belongs to the parameter, not to the thread. While one thread has not stepped yet, the other's backward
    adds to the same gradient, and both then step with the sum. The barrier here brings that about in every step: both
    threads zero, both run backward, both step. A lock round each call by itself, as here, does not help against that.
    (Without any, two backward passes on one parameter at the same time can crash the process; with torch 2.13 they do.)

How it shows: fault gradients_not_zeroed: the optimizer steps twice on one gradient, the sum [2, 4].

Fix: a lock round all of it, from zeroing to the optimizer's step; or a copy of the module for each thread.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Two threads train one module at the same time",
    pitfall="A gradient belongs to the parameter: what two threads compute for it is added up.",
    fix="Hold a lock from zeroing to the optimizer's step, or train a copy of the module in each thread.",
    tags=("gradients", "threads"),
    expect=fault("gradients_not_zeroed"),
)

W = torch.tensor([0.5, -0.2], requires_grad=True)
X = torch.tensor([1.0, 2.0])
OPTIMIZER = torch.optim.SGD([W], lr=1e-4)
LOCKSTEP = threading.Barrier(2)
POOL = ThreadPoolExecutor(2)
TRAINING, CALL = threading.Lock(), threading.Lock()
STEPPED: list[list[float]] = []


def backward() -> None:
    (W * X).sum().backward()


def update() -> None:
    assert W.grad is not None
    STEPPED.append(W.grad.tolist())  # what the optimizer steps with
    del STEPPED[:-2]
    OPTIMIZER.step()


def train() -> None:
    for call in (OPTIMIZER.zero_grad, backward, update):
        with CALL:
            call()
        LOCKSTEP.wait()


def train_alone() -> None:
    with TRAINING:
        OPTIMIZER.zero_grad()
        backward()
        update()


def step(i: int) -> None:
    for worker in [POOL.submit(train) for _ in range(2)]:
        worker.result()


def fixed_step(i: int) -> None:
    for worker in [POOL.submit(train_alone) for _ in range(2)]:
        worker.result()
