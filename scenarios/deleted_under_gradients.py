"""A5, second form: intermediate results are deleted, but gradients are on.

Symptom: every result is deleted as soon as the next one is there, and the peak is as high as if none were.

Why: ``del`` takes away a name. The graph that autograd builds has its own reference to each result that backward will
    need, and lets it go when backward has run, or when the last result dies and the graph with it.

How it shows: higher_peak: twelve results of 512 KiB alive together, against two. The batch itself is in both peaks.

Fix: inference needs no graph. Under ``torch.no_grad()`` ``del`` frees at once, and so does closing the tensor early.
    Training needs the results: there, smaller batches or ``torch.utils.checkpoint`` lower the peak.
"""

from __future__ import annotations

import torch

from harness import Scenario, higher_peak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="With gradients on, deleting intermediate results frees nothing",
    pitfall="del takes away a name; the graph keeps the tensor until backward has run.",
    fix="Compute without gradients, under no_grad; then del, or closing the tensor early, frees it at once.",
    tags=("memory", "gradients"),
    expect=higher_peak(at_least=3),
)

BATCH = torch.randn(512, 256)
WEIGHT = torch.ones((), requires_grad=True)
LAYERS = 12


def forward() -> torch.Tensor:
    result = BATCH * WEIGHT
    for _ in range(LAYERS):
        following = result.sigmoid()
        del result
        result = following
        del following
    return result


def step(i: int) -> None:
    forward()


def fixed_step(i: int) -> None:
    with torch.no_grad():
        forward()
