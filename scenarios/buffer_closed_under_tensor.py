"""A8, third form: the buffer is closed while a tensor made over it is still in use.

Symptom: a segmentation fault, without any Python error, at a line that only adds numbers up.

Why: ``torch.frombuffer`` makes a tensor over memory that it does not own, and does not keep the mapping from being
    closed. Python's own ``memoryview`` would: ``close()`` then raises BufferError. A bytearray that is extended, or an
    array that is resized, moves its memory in the same way.

How it shows: the process that is measured crashes, and only that one. It is then run again, with a look at the memory
    of each operand before the operator reads it: fault use_after_close at the line that reads, with the tensor's shape
    and the line that made it over the buffer.

Fix: copy what must outlive the buffer (``.clone()``), or read it before the buffer is closed.
"""

from __future__ import annotations

import mmap

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A buffer is closed while a tensor made over it is in use",
    pitfall="frombuffer makes a tensor over memory that it does not own and cannot keep.",
    fix="Copy what must outlive the buffer, or close the buffer last.",
    tags=("memory", "native"),
    expect=fault("use_after_close"),
)

BYTES = 1 << 21


def step(i: int) -> None:
    with mmap.mmap(-1, BYTES) as buffer:
        readings = torch.frombuffer(buffer, dtype=torch.float32)
    readings.sum()


def fixed_step(i: int) -> None:
    with mmap.mmap(-1, BYTES) as buffer:
        readings = torch.frombuffer(buffer, dtype=torch.float32).clone()
    readings.sum()
