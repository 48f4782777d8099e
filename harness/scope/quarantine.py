"""Closing a tensor without pulling its memory from under anybody: another thread may be inside an operator on it.

A Python call hands torch a reference to the field in which the tensor object keeps its implementation, and gives up
the interpreter lock. So a closed tensor gets a second implementation over the same memory first, which any operator
that is under way can go on reading; that is taken away only when every thread that was there has moved on.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

import torch

from harness.scope.closed_tensor import ClosedTensor, Closure, shell

__all__ = ["QUARANTINE", "Quarantine"]

_MOST = 1024
"""Tensors that wait at once. One more is closed all the same, and keeps its memory until the tensor itself dies."""

Positions = dict[int, tuple[int, int]]


def _other_threads() -> Positions:
    own = threading.get_ident()
    return {ident: (id(f), f.f_lasti) for ident, f in sys._current_frames().items() if ident != own}


class _Waiting:
    __slots__ = ("bytes", "positions", "previous", "tensor")

    def __init__(self, tensor: torch.Tensor, previous: torch.Tensor, size: int, positions: Positions) -> None:
        self.tensor = weakref.ref(tensor)
        self.previous: Any = previous
        self.bytes = size
        self.positions = positions


class Quarantine:
    """Tensors that are closed and whose memory somebody may still be reading."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: list[_Waiting] = []
        self.overflowed = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def bytes(self) -> int:
        """Bytes that wait."""
        return sum(w.bytes for w in self._waiting)

    def close(self, tensor: torch.Tensor, closure: Closure) -> None:
        """Turn *tensor* into a closed one. Its memory goes now, or at a later :meth:`settle`."""
        self.settle()
        positions = _other_threads()
        if not positions:
            _replace(tensor, shell(tensor.dtype, tensor.device), closure)
            return
        with torch.enable_grad(), torch._C.DisableTorchFunctionSubclass():
            second = tensor.view_as(tensor)  # with its graph, so that an operator under way records what it would have
        previous = _replace(tensor, second, closure)
        with self._lock:
            if len(self._waiting) >= _MOST:
                self.overflowed += 1
                return
            self._waiting.append(_Waiting(tensor, previous, closure.bytes, positions))

    def settle(self) -> int:
        """Let go of what no thread can be reading any more; how many still wait."""
        if not self._waiting:
            return 0
        with self._lock:
            now = _other_threads()
            left = []
            for waiting in self._waiting:
                moved = {i: p for i, p in waiting.positions.items() if now.get(i) == p}
                if moved:
                    waiting.positions = moved
                    left.append(waiting)
                else:
                    _let_go(waiting)
            self._waiting = left
            return len(left)


def _replace(tensor: torch.Tensor, by: torch.Tensor, closure: Closure) -> torch.Tensor:
    """Swap implementations; the object returned has *tensor*'s old one. A graph that saved it stays right."""
    with torch._C.DisableTorchFunctionSubclass():
        torch._C._swap_tensor_impl(tensor, by)
    by.__class__ = torch.Tensor
    tensor.__dict__.clear()
    tensor.__dict__["_harness_closure"] = closure
    tensor.__class__ = ClosedTensor
    return by


def _let_go(waiting: _Waiting) -> None:
    tensor = waiting.tensor()
    waiting.previous = None
    if tensor is None:
        return
    closure = tensor.__dict__["_harness_closure"]
    with torch._C.DisableTorchFunctionSubclass():
        empty = shell(tensor.dtype, tensor.device)
    _replace(tensor, empty, closure)


QUARANTINE = Quarantine()
"""The process's own."""
