"""A12: a new thread for each request, which never ends, and buffers that belong to the thread.

Symptom: memory grows with the number of requests and not with their size, and so does the number of threads.

Why: a thread-local buffer is made once for each thread and lives as long as it. That is growth for each new thread, not
    for each call: two calls in one thread share the buffer, and a pool of two threads has two however many calls come.

How it shows: leak, cause thread_growth: one thread a step, begun in ``start``. A threading.local keeps 16 KiB for each
    new thread, allocated in ``buffer``.

Fix: a bounded pool of threads, which are used again. Whatever starts a thread must also have a way to end it.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Each request starts a thread that never ends, with buffers of its own",
    pitfall="A thread-local buffer lives as long as its thread, and each new thread makes one.",
    fix="Use a bounded pool, and end the threads that you start.",
    tags=("memory", "threads"),
    expect=leak("thread_growth"),
)

LOCAL = threading.local()
POOL = ThreadPoolExecutor(2)
ANSWERS: queue.SimpleQueue[float] = queue.SimpleQueue()
NEVER = threading.Event()


def buffer() -> torch.Tensor:
    if not hasattr(LOCAL, "buffer"):
        LOCAL.buffer = torch.zeros(64, 64)
    made: torch.Tensor = LOCAL.buffer
    return made


def answer(request: float) -> float:
    return buffer().fill_(request).sum().item()


def serve(request: float) -> None:
    ANSWERS.put(answer(request))
    ANSWERS.put(answer(request))  # a second call in the same thread makes no second buffer
    NEVER.wait()  # for another request of the same client


def start(request: float) -> None:
    threading.Thread(target=serve, args=(request,), daemon=True).start()


def step(i: int) -> None:
    start(float(i))
    ANSWERS.get()
    ANSWERS.get()


def fixed_step(i: int) -> None:
    POOL.submit(answer, float(i)).result()
    POOL.submit(answer, float(i)).result()
