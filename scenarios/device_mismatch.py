"""B9: the batch stays on the CPU while the weights are on another device.

Symptom: on a GPU, "Expected all tensors to be on the same device". Worse where nothing is raised: a loss of 1e30, or
    NaN, from weights that are fine. ``linear`` of a CPU tensor and weights on ``meta`` is such a case.

Why: a batch is made on the CPU unless it is told otherwise, and moving the model does not move it. Most operators
    compare the devices of their arguments; some do not, and read memory that is not there. (A CPU tensor with no
    dimensions may meet any device: it counts as a plain number, and that is right.)

How it shows: fault device_mismatch, naming the operator, its line, and both tensors with their devices. Without a GPU
    the other device is ``meta``, which has shapes and no numbers, and torch raises nothing; with one it raises.

Fix: move the batch once, where it comes in: ``batch = batch.to(weight.device)``.
"""

from __future__ import annotations

import torch
from torch.nn.functional import linear

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="The batch stays on the CPU while the weights are on another device",
    pitfall="Moving the model does not move the batch, and not every operator compares devices.",
    fix="Move the batch once, where it comes in: batch = batch.to(weight.device).",
    tags=("gradients", "device"),
    expect=fault("device_mismatch"),
)

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "meta")
WEIGHT = torch.randn(8, 32, device=DEVICE)


def step(i: int) -> None:
    batch = torch.randn(16, 32)
    linear(batch, WEIGHT)


def fixed_step(i: int) -> None:
    batch = torch.randn(16, 32).to(WEIGHT.device)
    linear(batch, WEIGHT)
