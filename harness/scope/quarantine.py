"""Closing a tensor without pulling its memory from under anybody: another thread may be inside an operator on it.

A Python call hands torch a reference to the field in which the tensor object keeps its implementation, and gives up
the interpreter lock. So closing changes the object's class first, which refuses every new use, and leaves the memory
alone. It is let go when every thread that was there has moved on, and when nothing in C++ (a graph, a view, an operator
under way) shares the implementation any more: to exchange it while another thread counts references to it aborts the
process (seen once in 10,000 closes).
"""

from __future__ import annotations

import sys
import threading
import weakref
from types import FrameType

import torch

from harness.scope.closed_tensor import ClosedTensor, Closure, shell

__all__ = ["QUARANTINE", "Quarantine"]

_MOST = 1024
"""Tensors that wait at once. One more is closed all the same, and keeps its memory until the tensor itself dies."""

Positions = dict[int, tuple[int, int]]


_INSIDE_AN_OPERATOR = ("__torch_dispatch__", "__torch_function__")


def _other_threads() -> Positions:
    own = threading.get_ident()
    return {ident: _position(frame) for ident, frame in sys._current_frames().items() if ident != own}


def _position(frame: FrameType) -> tuple[int, int]:
    """Where a thread is in its own code: an operator that it is inside ends only when this changes. What a mode or a
    tensor subclass runs in Python happens inside the operator, so the frame that called that counts."""
    at: FrameType | None = frame
    while at is not None:
        if at.f_code.co_name in _INSIDE_AN_OPERATOR and at.f_back is not None:
            frame = at.f_back
        at = at.f_back
    return id(frame), frame.f_lasti


class _Waiting:
    __slots__ = ("bytes", "positions", "tensor")

    def __init__(self, tensor: torch.Tensor, size: int, positions: Positions) -> None:
        self.tensor = weakref.ref(tensor)
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
        tensor.__dict__.clear()
        tensor.__dict__["_harness_closure"] = closure
        tensor.__class__ = ClosedTensor
        # Only now: what was begun before the class changed is where its thread is, and nothing begins any more.
        positions = _other_threads()
        if not positions and _let_go(tensor):
            return
        with self._lock:
            if len(self._waiting) < _MOST:
                self._waiting.append(_Waiting(tensor, closure.bytes, positions))
            else:
                self.overflowed += 1

    def settle(self) -> int:
        """Let go of what nobody can be reading any more; how many still wait."""
        if not self._waiting:
            return 0
        with self._lock:
            now = _other_threads()
            left = []
            for waiting in self._waiting:
                waiting.positions = {i: p for i, p in waiting.positions.items() if now.get(i) == p}
                tensor = waiting.tensor()
                if tensor is not None and (waiting.positions or not _let_go(tensor)):
                    left.append(waiting)
                del tensor
            self._waiting = left
            return len(left)


def _let_go(tensor: torch.Tensor) -> bool:
    """Exchange the implementation for an empty one, and so give up the memory, where nobody else has part in it."""
    with torch._C.DisableTorchFunctionSubclass():
        if tensor._use_count() > 1:  # type: ignore[attr-defined]
            return False
        empty = shell(tensor.dtype, tensor.device)
        try:
            torch._C._swap_tensor_impl(tensor, empty)
        except RuntimeError:
            return False  # C++ has a weak reference to it: it goes with the tensor object
        empty.__class__ = torch.Tensor
    return True


QUARANTINE = Quarantine()
"""The process's own."""
