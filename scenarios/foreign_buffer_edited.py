"""A8, second form: a tensor is made over somebody else's buffer. It sees what is written there, and keeps all of it.

Symptom: samples that were read long ago change when the next one is read; where each reading has a buffer of its own,
    memory grows by whole readings, although a few numbers of each are kept.

Why: some constructors copy, and some make a tensor over the memory that they are given. ``MAKERS`` has this table:

    alias: torch.from_numpy(a), torch.frombuffer(a), torch.as_tensor(a), torch.asarray(a), torch.from_dlpack(a);
        torch.from_numpy(a)[:2]; and the other way round, tensor.numpy()
    copy: torch.tensor(a), torch.asarray(a, copy=True), torch.FloatTensor(a.tolist()), torch.from_numpy(a).clone();
        torch.as_tensor(a, dtype=...) and torch.asarray(a, dtype=...) where the number type changes

How it shows: ``setup`` asserts the edit for each row. ``step``: leak, cause view_keeps_storage: ``KEPT`` keeps tensors
    on memory that torch did not allocate, 64 KiB a step, of which they show 256 B.

Fix: copy where the data comes in (``torch.tensor(part)``), or own the buffer for as long as the tensor lives.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A tensor made over a numpy buffer sees its edits and keeps all of it",
    pitfall="from_numpy, frombuffer, as_tensor, asarray and from_dlpack make a tensor over the memory that they get.",
    fix="Copy the part that is needed where the data comes in: torch.tensor(part).",
    tags=("memory",),
    expect=leak("view_keeps_storage"),
)

MAKERS: dict[str, tuple[Callable[[np.ndarray], torch.Tensor], bool]] = {  # and whether it sees later edits
    "torch.from_numpy(a)": (torch.from_numpy, True),
    "torch.frombuffer(a)": (lambda a: torch.frombuffer(a, dtype=torch.float32), True),
    "torch.as_tensor(a)": (torch.as_tensor, True),
    "torch.asarray(a)": (torch.asarray, True),
    "torch.from_dlpack(a)": (torch.utils.dlpack.from_dlpack, True),
    "torch.from_numpy(a)[:2]": (lambda a: torch.from_numpy(a)[:2], True),
    "torch.tensor(a)": (torch.tensor, False),
    "torch.asarray(a, copy=True)": (lambda a: torch.asarray(a, copy=True), False),
    "torch.FloatTensor(a.tolist())": (lambda a: torch.FloatTensor(a.tolist()), False),
    "torch.from_numpy(a).clone()": (lambda a: torch.from_numpy(a).clone(), False),
    "torch.as_tensor(a, dtype=...)": (lambda a: torch.as_tensor(a, dtype=torch.float64), False),
    "torch.asarray(a, dtype=...)": (lambda a: torch.asarray(a, dtype=torch.float64), False),
}
KEPT: list[torch.Tensor] = []


def setup() -> None:
    for name, (make, aliases) in MAKERS.items():
        array = np.ones(4, dtype=np.float32)
        tensor = make(array)
        array[0] = 2.0  # the next reading comes into the same buffer
        assert (tensor[0].item() == 2.0) is aliases, name


def step(i: int) -> None:
    reading = np.ones(16384, dtype=np.float32)
    KEPT.append(torch.from_numpy(reading)[:64])


def fixed_step(i: int) -> None:
    reading = np.ones(16384, dtype=np.float32)
    KEPT.append(torch.tensor(reading[:64]))
    del KEPT[:-4]
