"""B13: inference with gradients on: activations are saved for a backward pass that never comes.

Symptom: inference needs as much memory as training, although nothing is trained. Turning gradients off in the main
    thread changes nothing: the requests are answered in worker threads.

Why: an operator saves what its backward will need. Eight layers of 512, on top of something that is trained, save
    24 MiB for a batch of 1024: their inputs, 8 x 2 MiB, and their weights, 8 x 1 MiB, which are there anyway. Without
    gradients it is nothing. Grad mode belongs to a thread: each new one begins with gradients on.

How it shows: higher_peak: ``step`` turns gradients off in the main thread, and not in the worker that answers. A note
    names the thread in which they are on, and the line.

Fix: ``torch.no_grad()`` or ``torch.inference_mode()`` in the function that the worker runs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from harness import Scenario, higher_peak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Inference runs with gradients on, in a worker thread",
    pitfall="Activations are saved for a backward that never comes; grad mode belongs to a thread.",
    fix="Use no_grad or inference_mode in the function that each worker thread runs.",
    tags=("memory", "gradients", "threads"),
    expect=higher_peak(at_least=2),
)


def layers(width: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(8)))


def saved_bytes(model: torch.nn.Module, request: torch.Tensor) -> int:
    """What the operators of one forward pass save for their backward."""
    saved: list[int] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.untyped_storage().nbytes())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model(request)
    return sum(saved)


MODEL = layers(32)
REQUEST = torch.ones(1024, 32)
WORKER = ThreadPoolExecutor(1)


def answer() -> float:
    scores: torch.Tensor = MODEL(REQUEST)
    return scores.sum().item()


def step(i: int) -> None:
    with torch.no_grad():  # here, where nothing is computed
        WORKER.submit(answer).result()


def fixed_step(i: int) -> None:
    WORKER.submit(torch.no_grad()(answer)).result()
