"""Whether a loss leads to a parameter, found out before backward runs."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import torch

__all__ = ["first_reached"]

_OPAQUE = frozenset({"CheckpointFunctionBackward"})
"""Nodes that run a backward of their own inside: what they lead to is not in the graph (checkpoint with
use_reentrant=True, of torch and of libraries that copied it)."""


def first_reached(loss: torch.Tensor, wanted: Set[int]) -> int | bool:
    """The ``id`` of the first tensor of *wanted* (ids of leaves) that *loss* leads to; True where a node hides what it
    leads to, False where there is no way. Follows ``next_functions`` only, never ``_saved_*``, which would run the
    program's unpack hooks; each node is seen once, and no node is held afterwards."""
    if loss.grad_fn is None:
        return id(loss) if loss.requires_grad and id(loss) in wanted else False
    functions: Any = torch._C._functions  # its stubs lack the class
    reached: set[Any] = {loss.grad_fn}  # keeps the nodes' Python objects, so that the same node is the same object
    waiting: list[Any] = [loss.grad_fn]
    hidden = False
    while waiting:
        node = waiting.pop()
        if isinstance(node, functions.AccumulateGrad):
            if id(node.variable) in wanted:
                return id(node.variable)
            continue
        hidden = hidden or type(node).__name__ in _OPAQUE
        for following, _ in node.next_functions:
            if following is not None and following not in reached:
                reached.add(following)
                waiting.append(following)
    return hidden
