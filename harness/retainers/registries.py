"""Counts that only libraries keep: tables in C and C++ that no walk of Python's objects can see into."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable

__all__ = ["REGISTRIES", "read_registries", "read_registry"]


def _atexit() -> int:
    return int(atexit._ncallbacks())


def _torchscript() -> int:
    state = sys.modules.get("torch.jit._state")
    return 0 if state is None else len(state._python_cu.get_functions())


def _dynamo() -> int:
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["stats"]["unique_graphs"])


def _compiled_frames() -> int:
    convert = sys.modules.get("torch._dynamo.convert_frame")
    return 0 if convert is None else len(convert.input_codes.seen) + len(convert.output_codes.seen)


def _profiler() -> int:
    profiler = sys.modules.get("torch.autograd.profiler")
    return int(bool(getattr(profiler, "_is_profiler_enabled", False)))


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _linecache() -> int:
    return len(sys.modules["linecache"].cache) if "linecache" in sys.modules else 0


REGISTRIES: dict[str, Callable[[], int]] = {
    "atexit callbacks": _atexit,
    "TorchScript functions": _torchscript,
    "dynamo graphs": _dynamo,
    "dynamo code objects": _compiled_frames,
    "running profilers": _profiler,
    "linecache entries": _linecache,
    "open descriptors": _descriptors,
    "threads": threading.active_count,
    "modules": lambda: len(sys.modules),
}
"""What is counted, and how. Reading imports nothing: a library that was not loaded counts nothing."""


def read_registries() -> dict[str, int]:
    """All counts now; one that this version of a library does not tell is left out."""
    return {name: count for name in REGISTRIES if (count := read_registry(name, otherwise=-1)) >= 0}


def read_registry(name: str, *, otherwise: int) -> int:
    """One count now; *otherwise* where it cannot be read."""
    try:
        return REGISTRIES[name]()
    except (AttributeError, KeyError, TypeError, OSError):
        return otherwise
