"""Looks whether the memory of each operand is still there, before an operator reads it: for a program that crashed."""

from __future__ import annotations

import ctypes
import errno
import mmap
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from harness.errors import UseAfterCloseError
from harness.ledger.sites import is_users_file
from harness.units import format_bytes

__all__ = ["watch_reads"]

_MOST_PLACES = 65_536

_READ_WITHOUT_AN_OPERATOR = ("tolist", "__array__")
_NO_READ = frozenset({"aten::detach", "aten::alias"})
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def watch_reads() -> None:
    """In this thread, until the process ends: a read that would crash is a :class:`UseAfterCloseError` instead.

    Memory that was unmapped is seen: a mapping that was closed, a large buffer that moved when it grew. Not seen are a
    file that became shorter under its mapping, and freed memory that something else has taken. Other threads are not
    watched.
    """
    made = _Made()
    made.watch("frombuffer")
    made.watch("from_numpy")
    _Operators(made).__enter__()  # type: ignore[no-untyped-call]
    _Methods(made).__enter__()  # type: ignore[no-untyped-call]


class _Made:
    """The lines that made tensors over foreign buffers, by the address of the buffer: the last one counts."""

    def __init__(self) -> None:
        self._places: dict[int, str] = {}

    def watch(self, name: str) -> None:
        """Have ``torch.<name>`` tell. TorchScript compiles neither of those, so nothing misses the original."""
        original: Callable[..., Any] = getattr(torch, name)

        def told(*args: Any, **kwargs: Any) -> Any:
            tensor = original(*args, **kwargs)
            if len(self._places) < _MOST_PLACES:
                self._places[_address(tensor)] = f"by torch.{name} at {_place(sys._getframe(1))}"
            return tensor

        setattr(torch, name, told)

    def refuse(self, reading: str, tensor: torch.Tensor) -> None:
        """Raise where the memory of *tensor* is gone."""
        if type(tensor) not in _PLAIN or tensor.device.type != "cpu" or tensor.layout != torch.strided:
            return
        address = _address(tensor)
        size = tensor.untyped_storage().nbytes()
        if not size or _is_mapped(address, size):
            return
        made = self._places.get(address, "over a buffer of somebody else")
        raise UseAfterCloseError(
            f"{reading} was given a tensor whose memory is no longer there: {list(tensor.shape)} {tensor.dtype}, "
            f"{format_bytes(size)}, made {made}. Whoever owned the buffer has closed it, or moved it"
        )


class _Operators(TorchDispatchMode):
    def __init__(self, made: _Made) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._made = made

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not func.is_view and func._schema.name not in _NO_READ:
            for value in tree_iter((args, kwargs)):
                if isinstance(value, torch.Tensor):
                    self._made.refuse(func._schema.name.removeprefix("aten::"), value)
        return func(*args, **(kwargs or {}))


class _Methods(TorchFunctionMode):
    """For what reads memory and is no operator."""

    def __init__(self, made: _Made) -> None:
        super().__init__()
        self._made = made

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in _READ_WITHOUT_AN_OPERATOR and args and isinstance(args[0], torch.Tensor):
            self._made.refuse(name, args[0])
        return func(*args, **(kwargs or {}))


def _address(tensor: torch.Tensor) -> int:
    """Of its storage; unlike data_ptr() it does not make a lazy clone real."""
    address: int = torch._C._data_address(tensor)  # type: ignore[attr-defined]
    return address


_mincore = ctypes.CDLL(None, use_errno=True).mincore if sys.platform == "linux" else None
if _mincore is not None:
    _mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def _is_mapped(address: int, size: int) -> bool:
    """Whether every page of it is mapped: mincore(2) answers ENOMEM where one is not."""
    if _mincore is None:
        return True
    first = address - address % mmap.PAGESIZE
    length = address + size - first
    pages = ctypes.create_string_buffer(-(-length // mmap.PAGESIZE))
    return _mincore(first, length, pages) == 0 or ctypes.get_errno() != errno.ENOMEM


def _place(frame: FrameType | None) -> str:
    while frame is not None:
        if is_users_file(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        frame = frame.f_back
    return "an unknown place"
