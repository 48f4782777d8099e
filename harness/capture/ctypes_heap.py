"""Lets memray see what ctypes allocates. memray patches the import tables of libraries; ctypes takes an address instead
and calls it, past every table. The interpreter has functions of the same meaning that go through its own table.

What ctypes takes with ``mmap`` itself stays unseen: the interpreter has nothing of the same meaning."""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from typing import Any

__all__ = ["lead_ctypes_through_the_interpreter"]

_SAME = {
    "malloc": "PyMem_RawMalloc",
    "calloc": "PyMem_RawCalloc",
    "realloc": "PyMem_RawRealloc",
    "free": "PyMem_RawFree",
}


def lead_ctypes_through_the_interpreter() -> None:
    """From now on, ``libc.malloc`` and its like, taken through ctypes, are the interpreter's. For a process of its own:
    it is never undone. Nothing is changed where the interpreter's raw allocator is not malloc."""
    other_malloc = sys.flags.dev_mode or os.environ.get("PYTHONMALLOC", "malloc") not in ("malloc", "pymalloc")
    if other_malloc or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return
    original = ctypes.CDLL.__getitem__
    everything = ctypes.CDLL(None)
    known = {name: _address(original(everything, name)) for name in _SAME}

    def taken(library: ctypes.CDLL, name: Any) -> Any:
        function = original(library, name)
        if name not in known or _address(function) != known[name]:
            return function
        other = type(function)(_address(getattr(ctypes.pythonapi, _SAME[name])))
        other.__name__ = name
        return other

    ctypes.CDLL.__getitem__ = taken  # type: ignore[method-assign]


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
