"""A8: a small view is kept, and with it the whole buffer that it looks at.

Symptom: memory grows by megabytes, although only a few numbers of each batch are kept.

Why: a slice, a row or a ``detach()`` is a view: it has no memory of its own, and it keeps all of the storage that it
    looks at. One row of a batch keeps the batch.

How it shows: leak, cause view_keeps_storage: each view in ``FIRST_ROWS`` shows 256 B of 64 KiB. The storage comes from
    ``read_batch``, the views are kept in ``step``.

Fix: keep a copy of the part: ``batch[0].clone()``. The batch can then go.
"""

from __future__ import annotations

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="One row of each batch is kept, and with it the whole batch",
    pitfall="A view has no memory of its own: it keeps all of the storage that it looks at.",
    fix="Keep a copy of the part: batch[0].clone().",
    tags=("memory",),
    expect=leak("view_keeps_storage"),
)

FIRST_ROWS: list[torch.Tensor] = []
MOST_ROWS = 8


def read_batch() -> torch.Tensor:
    return torch.ones(256, 64)


def step(i: int) -> None:
    FIRST_ROWS.append(read_batch()[0])


def fixed_step(i: int) -> None:
    FIRST_ROWS.append(read_batch()[0].clone())
    del FIRST_ROWS[:-MOST_ROWS]
