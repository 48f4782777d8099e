"""Follows native allocations with memray over some steps, inside the subject, and reads what was left.

It is read here and not in the parent: should symbolising crash, it takes a process with it that is at its end anyway,
and the file with all addresses never leaves the machine's temporary folder.
"""

from __future__ import annotations

import linecache
import os
import re
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.ledger.sites import is_users_file
from harness.model.allocation import Frame
from harness.model.native import NativeRecord, NativeSite

__all__ = ["NativeStacks", "shown_stack"]

_MOST_BYTES = 64 << 20
_MOST_STEPS = 32  # a leak in each eighth step is seen four times
_MOST_S = 4.0
_MOST_RECORDS = 4096
_MOST_SITES = 24
_MOST_FRAMES = 12
_LONGEST_NAME = 400

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_ARENA = ("_PyObject_ArenaMmap", "new_arena", "arena_map_get")
_ENTRY = ("_PyEval_EvalFrameDefault", "_PyEval_EvalFrame", "_PyEval_Vector", "PyEval_EvalCode")
_CTYPES = (
    "_ctypes_callproc",
    "_call_function_pointer",
    "PyCFuncPtr_call",
    "ffi_call",
    "ffi_call_int",
    "ffi_call_unix64",
)
_MACHINERY = re.compile(
    r"_?Py[A-Z_]\w*|_Py_\w+|<unknown>|\?+|(cfunction|method|slot|object|type|tp|trace|call|do|vectorcall)_\w*(call|trace|core|new|init"
    r"|vectorcall|function|wrapper)\w*|memray::.*|start_thread|__clone3?|clone3?|_?start|__libc_start_\w+"
)
"""The interpreter's own way from a Python line into a function, memray's, and what starts threads."""


class NativeStacks:
    """One tracking. ``start`` gives a sentence where it cannot be had, ``read`` what was left once it was stopped."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "native.bin")
        self._tracker: Any = None
        self._began = 0.0

    def start(self) -> str | None:
        """Begin; the reason where that is impossible."""
        try:
            import memray
        except Exception as error:
            return f"memray cannot be imported ({error})"
        try:
            destination = memray.FileDestination(self._path, overwrite=True, compress_on_exit=False)
            self._tracker = memray.Tracker(destination=destination, native_traces=True)
            self._tracker.__enter__()
        except Exception as error:
            self._tracker = None
            return f"memray does not start: {error}"
        self._began = time.monotonic()
        return None

    def may_go_on(self, steps: int) -> bool:
        """Whether another step after *steps* fits into the bounds of number, time and file size."""
        return (
            steps < _MOST_STEPS
            and time.monotonic() - self._began < _MOST_S
            and os.path.getsize(self._path) < _MOST_BYTES
        )

    def stop(self) -> None:
        """End it; harmless where it did not begin."""
        if self._tracker is not None:
            self._tracker.__exit__(None, None, None)
            self._tracker = None

    def read(self, steps: int) -> NativeRecord:
        """What the *steps* steps left alive, the largest first."""
        import memray

        with memray.FileReader(self._path) as reader:
            records = sorted(reader.get_leaked_allocation_records(merge_threads=True), key=lambda r: -r.size)
            sites = _together(site for record in records[:_MOST_RECORDS] if (site := _site(record)) is not None)
        return NativeRecord(steps=steps, sites=sites)


def _site(record: Any) -> NativeSite | None:
    """None for what is ours, and for the arenas of Python's small objects: those are counted elsewhere."""
    import memray

    names = [name for name, _, _ in record.native_stack_trace()]
    calls = record.stack_trace()
    if any(name in _ARENA for name in names) or (calls and calls[0][1].startswith(_OURS)):
        return None
    users = [call for call in calls if is_users_file(call[1])] or [c for c in calls if not c[1].startswith(_OURS)]
    return NativeSite(
        bytes=record.size,
        allocations=record.n_allocations,
        stack_bytes=record.size,
        stack=shown_stack(memray.AllocatorType(record.allocator).name.lower(), names),
        frames=tuple(
            Frame(path=path, line=line, function=function, source=linecache.getline(path, line).strip() or None)
            for function, path, line in users[:_MOST_FRAMES]
        ),
    )


def shown_stack(allocator: str, names: list[str]) -> tuple[str, ...]:
    """The functions between the allocator and the Python line, innermost first, without the interpreter's machinery."""
    entry = next((k for k, name in enumerate(names) if name in _ENTRY), len(names))
    inner = names[:entry]
    kept = [name[:_LONGEST_NAME] for name in inner if name not in _CTYPES and not _MACHINERY.fullmatch(name)]
    through = ["ctypes"] if any(name in _CTYPES for name in inner) else []
    return tuple(_without_repeats([allocator, *kept[: _MOST_FRAMES - 1 - len(through)], *through]))


def _without_repeats(names: list[str]) -> Iterator[str]:
    before = None
    for name in names:
        if name != before:
            yield name
        before = name


def _together(sites: Iterator[NativeSite]) -> tuple[NativeSite, ...]:
    """Sites of one Python line as one, but for tensors, which the ledger counts."""
    found: dict[tuple[object, ...], NativeSite] = {}
    for site in sites:
        key = (site.frames, any(name.startswith("c10::alloc_cpu") for name in site.stack))
        known = found.get(key)
        if known is not None:
            site = msgspec.structs.replace(
                known, bytes=known.bytes + site.bytes, allocations=known.allocations + site.allocations
            )
        found[key] = site
    return tuple(sorted(found.values(), key=lambda s: -s.bytes)[:_MOST_SITES])
