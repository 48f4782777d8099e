"""C1: samples are sent through the model one at a time.

Symptom: the model is small, the processor is busy, and few samples a second come out.

Why: each call pays for Python, for the dispatcher and for starting the operator: microseconds, whatever the size. A
    small layer needs less than that for one sample, and hardly more for 128 of them at once.

How it shows: stable, both halves; ``comparison.throughput_ratio`` says how many times more samples a second the batch
    gives. Expected are 4 at least: the ratio depends on the model, and a large one gains less. ``setup`` prints the
    samples a second for batches of 1 to 1024, and the size from which on twice as many gain less than a fifth.

Fix: stack the samples and call the model once.
"""

from __future__ import annotations

from time import perf_counter

import torch

from harness import Scenario, slower

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Samples are sent through the model one at a time",
    pitfall="Every call pays for Python and the dispatcher, however small the work is.",
    fix="Stack the samples and call the model once.",
    tags=("throughput",),
    expect=slower(at_least=4),
)

ITEMS_PER_STEP = 128

MODEL = torch.nn.Linear(32, 8)
SAMPLES = torch.randn(ITEMS_PER_STEP, 32)


def samples_per_second(size: int) -> float:
    """The best of a few calls with a batch of *size*."""
    batch = torch.randn(size, 32)
    times = []
    for _ in range(20):
        began = perf_counter()
        MODEL(batch)
        times.append(perf_counter() - began)
    return size / min(times)


def setup() -> None:
    with torch.no_grad():
        speeds = {2**k: samples_per_second(2**k) for k in range(11)}
    knee = next((size for size in speeds if size < 1024 and speeds[2 * size] < 1.2 * speeds[size]), 1024)
    print(*(f"batch of {size}: {speed:,.0f} items/s" for size, speed in speeds.items()), sep="\n")
    print(f"from {knee} on, more hardly pays")


def step(i: int) -> None:
    with torch.no_grad():
        for sample in SAMPLES:
            MODEL(sample)


def fixed_step(i: int) -> None:
    with torch.no_grad():
        MODEL(SAMPLES)
