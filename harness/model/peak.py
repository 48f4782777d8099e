"""What was alive at a step's peak: how much of each role, and where the largest parts were allocated."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from harness.model.allocation import Frame

__all__ = ["TENSOR_ROLES", "PeakComposition", "PeakPart", "TensorRole"]

TensorRole = Literal[
    "parameter", "gradient", "optimizer state", "buffer", "activation", "input", "backward temporary", "other"
]  # fmt: skip
"""What a tensor storage is there for (``harness.ledger.composition`` says on which evidence):

- ``parameter``: of a module, of an optimizer, or a leaf that requires gradients.
- ``gradient``: a leaf's ``.grad``.
- ``optimizer state`` and ``buffer``: in an optimizer's state, in a module's buffers.
- ``activation``: what the step computes outside backward and optimizer, and what is kept with its ``grad_fn``.
- ``input``: what such a computation begins with, batches and targets among them.
- ``backward temporary``: what backward makes on its way, gradients of activations above all.
- ``other``: everything else, an optimizer's temporaries among it, and all that there is no evidence for.
"""

TENSOR_ROLES: tuple[TensorRole, ...] = get_args(TensorRole)


class PeakPart(msgspec.Struct, frozen=True, kw_only=True):
    """The storages of one role that one site had alive. ``allocated_at`` is innermost user frame first; empty where no
    user code was on the stack."""

    role: TensorRole
    bytes: int
    storages: int
    allocated_at: tuple[Frame, ...] = ()


class PeakComposition(msgspec.Struct, frozen=True, kw_only=True):
    """The CPU storages at the highest moment of *step*. ``by_role`` adds up to ``bytes``, the exact peak; ``parts`` are
    the largest of it, the largest first."""

    step: int
    bytes: int
    by_role: dict[TensorRole, int]
    parts: tuple[PeakPart, ...]
