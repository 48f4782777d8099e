"""B5: one number of the data is NaN, and after one step the whole model is.

Symptom: the loss is nan from some step on, and stays it. The model, and Adam's state, are lost.

Why: NaN goes through every sum. One missing value in a batch makes the loss NaN, backward brings it to every
    parameter, and the step writes it into all of them. Clipping does not help: it divides by a norm that is NaN, and
    makes every gradient NaN. ``setup`` shows that.

How it shows: fault non_finite_gradient, reason ``data``: the tensor, how many of its numbers, where it came in.

Fix: clean the data. Where that cannot be trusted: ``clip_grad_norm_(..., error_if_nonfinite=True)`` refuses before the
    step, and the batch is skipped.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="One number of the data is NaN, and after one step the whole model is",
    pitfall="NaN goes through every sum: loss, gradients, parameters, the optimizer's state.",
    fix="Clean the data; clip with error_if_nonfinite=True and skip the batch that it refuses.",
    tags=("gradients", "non_finite"),
    expect=fault("non_finite_gradient"),
)

CLEAN, TARGET = torch.randn(16, 4), torch.randn(16, 1)
DIRTY = CLEAN.index_put((torch.tensor(3), torch.tensor(1)), torch.tensor(float("nan")))
MODEL = torch.nn.Linear(4, 1)
OPTIMIZER = torch.optim.Adam(MODEL.parameters())


def clipped(*, refuse: bool) -> float:
    norm = torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0, error_if_nonfinite=refuse)
    return norm.item()


def backward(batch: torch.Tensor) -> None:
    OPTIMIZER.zero_grad()
    (MODEL(batch) - TARGET).square().mean().backward()


def setup() -> None:
    backward(CLEAN)
    assert MODEL.weight.grad is not None
    MODEL.weight.grad[0, 0] = float("nan")
    clipped(refuse=False)
    gradients = [p.grad for p in MODEL.parameters() if p.grad is not None]
    assert all(bool(gradient.isnan().all()) for gradient in gradients), "clipping spreads one NaN to every gradient"
    OPTIMIZER.zero_grad()


def step(i: int) -> None:
    backward(DIRTY if i == 4 else CLEAN)
    clipped(refuse=False)
    OPTIMIZER.step()


def fixed_step(i: int) -> None:
    backward(DIRTY if i == 4 else CLEAN)
    try:
        clipped(refuse=True)
    except RuntimeError:
        return  # the batch is skipped
    OPTIMIZER.step()
