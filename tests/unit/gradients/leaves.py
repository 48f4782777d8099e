"""Leaves for tests of the collector, and what hangs on them."""

from __future__ import annotations

import torch

__all__ = ["hooks_on", "leaf"]


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def hooks_on(parameter: torch.Tensor) -> int:
    kinds = ("_backward_hooks", "_post_accumulate_grad_hooks")
    return sum(len(getattr(parameter, kind, None) or ()) for kind in kinds)
