"""B10: a batch comes with another width than the layer takes.

Symptom: "mat1 and mat2 shapes cannot be multiplied (16x5 and 4x8)".

Why: a layer is made for one number of features. Torch names both shapes and neither tensor, and in a model of many
    layers it is not plain which of them met.

How it shows: fault shape_mismatch, with the operator's line and both tensors: name, type, shape, device.

Fix: look at the width where the data comes in; take the layer's width from the data instead of a number.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A batch comes with another width than the layer takes",
    pitfall="A layer is made for one number of features; torch names the shapes and not the tensors.",
    fix="Take the layer's width from the data, and check it where the data comes in.",
    tags=("gradients", "shape"),
    expect=fault("shape_mismatch"),
)

WIDE, RIGHT = torch.randn(16, 5), torch.randn(16, 4)
MODEL = torch.nn.Linear(4, 8)


def step(i: int) -> None:
    MODEL(WIDE)


def fixed_step(i: int) -> None:
    MODEL(RIGHT)
