"""A5: every intermediate result is kept to the end of the function.

Symptom: the peak is several times what one layer needs, and the largest batch that fits is far too small.

Why: each result has a name, and a name holds its tensor until the function returns. With gradients on it would make no
    difference to delete them: the graph keeps what backward needs. Inference needs none of it.

How it shows: higher_peak: eight results of 1 MiB alive together, against two.

Fix: compute without gradients (``torch.no_grad()``), and give the same name to each new result, so that the old one
    goes at once.
"""

from __future__ import annotations

import torch

from harness import Scenario, higher_peak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Intermediate results are kept to the end of the function",
    pitfall="A name holds its tensor until the function returns; with gradients on, the graph holds it even longer.",
    fix="Under no_grad, let each result take the name of the last one, or close it early.",
    tags=("memory",),
    expect=higher_peak(at_least=2),
)

BATCH = torch.randn(1024, 256)
LAYERS = 8


def step(i: int) -> None:
    results = [BATCH]
    with torch.no_grad():
        for _ in range(LAYERS):
            results.append(results[-1].tanh())


def fixed_step(i: int) -> None:
    result = BATCH
    with torch.no_grad():
        for _ in range(LAYERS):
            result = result.tanh()
