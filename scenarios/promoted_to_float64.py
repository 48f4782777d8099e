"""B7: one float64 tensor makes everything after it float64.

Symptom: twice the memory, and slower, from one line on; or later "mat1 and mat2 must have the same dtype".

Why: two tensors of different types meet in the wider one. numpy's numbers are float64 unless they are told otherwise,
    so a scale or a mask that comes from numpy turns float32 activations into float64, and nothing is said.

How it shows: fault dtype_mismatch, reason ``silent``, with the line, both tensors, and which of them is the wide one.

Fix: convert once, where the data comes in: ``torch.from_numpy(scale).float()``.
"""

from __future__ import annotations

import numpy as np
import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="One float64 tensor makes everything after it float64",
    pitfall="Two types meet in the wider one, and numpy's numbers are float64.",
    fix="Convert once, where the data comes in: torch.from_numpy(scale).float().",
    tags=("gradients", "dtype"),
    expect=fault("dtype_mismatch"),
)

BATCH = torch.randn(64, 32)
SCALE = torch.from_numpy(np.linspace(0.5, 2.0, 32))
SHORT_SCALE = SCALE.float()


def step(i: int) -> None:
    scaled = BATCH * SCALE
    assert scaled.dtype == torch.float64


def fixed_step(i: int) -> None:
    scaled = BATCH * SHORT_SCALE
    assert scaled.dtype == torch.float32
