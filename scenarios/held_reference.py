"""A4: a cache at module level keeps every result.

Symptom: memory grows for hours at an even pace until it is full. The loop looks innocent: all its names are local.

Why: a module lives as long as the process. What a module-level list or dictionary refers to lives as long, and the
    key here is new in every step, so the cache never answers and never forgets.

How it shows: leak, cause held_reference: one storage of 16 KiB a step, allocated in ``features``, none of which dies.

Fix: give the cache a bound and let the oldest go: ``functools.lru_cache(maxsize=...)``,
    ``collections.deque(maxlen=...)``, or as below. If only a number is wanted, keep the number and not the tensor.
"""

from __future__ import annotations

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A cache at module level keeps every result",
    pitfall="A module-level dictionary lives as long as the process, and so does every tensor in it.",
    fix="Bound the cache and let the oldest entry go, or keep the number that you need and not the tensor.",
    tags=("memory",),
    expect=leak("held_reference"),
)

CACHE: dict[int, torch.Tensor] = {}
MOST_CACHED = 4


def features(i: int) -> torch.Tensor:
    return torch.full((64, 64), float(i))


def step(i: int) -> None:
    CACHE[i] = features(i)


def fixed_step(i: int) -> None:
    CACHE[i] = features(i)
    if len(CACHE) > MOST_CACHED:
        del CACHE[next(iter(CACHE))]
