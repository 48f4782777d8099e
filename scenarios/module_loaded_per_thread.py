"""A12, second form: each thread loads the module for itself.

Symptom: a server with eight workers needs eight times the memory of the model.

Why: ``torch.jit.load`` and ``torch.load`` make new parameters at each call. Inference only reads them, so one set is
    enough for all threads. ``copy.copy(module)`` gives each thread a module of its own (its own attributes and training
    flag) on the same parameters; ``copy.deepcopy`` copies them as well.

How it shows: higher_peak: eight sets of parameters of 256 KiB, one for each thread, against one.

Fix: load once and share. Whoever trains needs a copy or a lock (see module_trained_by_threads).
"""

from __future__ import annotations

import copy
import functools
import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

from harness import Scenario, higher_peak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Each of eight threads loads the module for itself",
    pitfall="Each load makes new parameters, and inference only reads them.",
    fix="Load once; give each thread copy.copy(module), which shares the parameters.",
    tags=("memory", "threads"),
    expect=higher_peak(at_least=5),
)

WORKERS = [ThreadPoolExecutor(1) for _ in range(8)]
REQUEST = torch.ones(1, 256)
LOCAL = threading.local()


@functools.cache
def file() -> bytes:
    written = io.BytesIO()
    torch.save(torch.nn.Linear(256, 256, bias=False).state_dict(), written)
    return written.getvalue()


def load() -> torch.nn.Module:
    module = torch.nn.Linear(256, 256, bias=False, device="meta")
    module.load_state_dict(torch.load(io.BytesIO(file())), assign=True)
    return module


loaded_once = functools.cache(load)


def share() -> torch.nn.Module:
    return copy.copy(loaded_once())


@torch.no_grad()
def answer(module_of_thread: Callable[[], torch.nn.Module]) -> float:
    if not hasattr(LOCAL, "module"):
        LOCAL.module = module_of_thread()
    result: torch.Tensor = LOCAL.module(REQUEST)
    return result.sum().item()


def step(i: int) -> None:
    for answered in [worker.submit(answer, load) for worker in WORKERS]:
        answered.result()


def fixed_step(i: int) -> None:
    loaded_once()  # here, before any thread asks for it
    for answered in [worker.submit(answer, share) for worker in WORKERS]:
        answered.result()
