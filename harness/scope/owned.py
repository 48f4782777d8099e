"""Things that a scope closes at its end: hook handles, files, iterators, pools, CUDA graphs, tensors."""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
from typing import Any

import torch

from harness.errors import UsageError
from harness.scope.closed_tensor import ClosedTensor
from harness.scope.closer import close_tensor
from harness.scope.holders import locals_of
from harness.scope.record import Record
from harness.scope.storages import key_of, objects_of, storages_of, tensors_in
from harness.units import format_number_of

__all__ = ["Owned", "OwnedTensors", "closer_of", "held_keys"]

_WAYS = ("remove", "terminate", "close", "shutdown", "_shutdown_workers", "reset", "release", "stop")
"""How things end, in the order in which they are tried: handles, processes and their pools (whose close() only refuses
more work), files and iterators, executors, DataLoader iterators, CUDA graphs, views of memory, timers."""


def closer_of(thing: Any) -> str | None:
    """The name of the method that ends *thing*, or None where it has none."""
    return next((way for way in _WAYS if callable(getattr(thing, way, None))), None)


class Owned:
    """One closable. Memory that a living tensor lies over is not closed: the next read would crash."""

    def __init__(self, thing: Any) -> None:
        way = closer_of(thing)
        if way is None and not isinstance(thing, bytearray):
            raise UsageError(
                f"a {type(thing).__name__} has none of the methods that end something ({', '.join(_WAYS)})",
                help="Own an object that can be closed; contextlib.closing and ExitStack make such objects.",
            )
        self.thing = thing
        self._way = way

    def end(self, record: Record) -> None:
        thing, self.thing = self.thing, None
        if isinstance(thing, (mmap.mmap, memoryview, bytearray)):
            over = tensors_over(thing)
            if over:
                held = record.more().setdefault("held", [])
                held.append(f"{type(thing).__name__} of {len(thing)} bytes, under {over}")
                return  # its last user keeps it, and the collector ends it then
        if self._way == "terminate":
            thing.terminate()
            (thing.join if hasattr(thing, "join") else thing.wait)()
        elif self._way is not None:
            getattr(thing, self._way)()


class OwnedTensors:
    """Tensors that the scope holds on to until it closes them."""

    def __init__(self, tree: Any) -> None:
        self.tensors = tensors_in(tree)

    def end(self, record: Record) -> None:
        while self.tensors:
            tensor = self.tensors.pop()
            if type(tensor) is not ClosedTensor and _used_elsewhere(tensor):
                close_tensor(record, tensor, record.closed_at)


def held_keys(record: Record) -> set[int]:
    """The ledger's keys of the storages that the scope itself holds on to."""
    ledger = record.ledger
    if ledger is None:
        return set()
    owned = [member for member in list(record.members.values()) if isinstance(member, OwnedTensors)]
    return {key_of(s, ledger) for member in owned for tensor in member.tensors for s in storages_of(tensor)}


def _used_elsewhere(tensor: torch.Tensor) -> bool:
    """Whether anybody but us could still use it: two references are ours and this call's, one the question's."""
    return sys.getrefcount(tensor) > 3


def tensors_over(buffer: Any) -> str | None:
    """What living tensors lie over a buffer's memory, in words; also where only a reference count says so."""
    try:
        array = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    except (TypeError, ValueError, BufferError):
        return "memory that cannot be looked at (read-only or already released)" if _exported(buffer) else None
    first = ctypes.addressof(array)
    last = first + len(buffer)
    del array
    over = [
        candidate
        for candidate in objects_of(torch.Tensor)
        if any(first <= s.data_ptr() < last for s in storages_of(candidate))
    ]
    if over:
        return format_number_of(len(over), "living tensor")
    return "references that come from C++ (a graph, or a tensor without a Python object)" if _from_cpp(buffer) else None


def _exported(buffer: Any) -> bool:
    return sys.getrefcount(buffer) > 4


def _from_cpp(buffer: Any) -> bool:
    """Whether references to *buffer* are left that no Python object, frame or call of ours accounts for.

    A frame's variables count as well, so the answer errs towards yes: then the buffer is only left to the collector."""
    counted = 0
    for frame in sys._current_frames().values():
        at: Any = frame
        while at is not None:
            if at.f_locals is not at.f_globals:
                counted += sum(1 for value in locals_of(at).values() if value is buffer)
            at = at.f_back
    referrers = [r for r in gc.get_referrers(buffer) if type(r).__name__ != "frame"]
    counted += sum(1 for r in referrers for one in gc.get_referents(r) if one is buffer)
    return sys.getrefcount(buffer) > counted + 2
