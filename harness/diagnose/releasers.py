"""Which call gives back what another one took: a table, and two habits of naming."""

from __future__ import annotations

import re

__all__ = ["releaser_of"]

_RELEASERS = {
    "deflateInit_": "deflateEnd",
    "deflateInit2_": "deflateEnd",
    "inflateInit_": "inflateEnd",
    "inflateInit2_": "inflateEnd",
    "fopen": "fclose",
    "fdopen": "fclose",
    "opendir": "closedir",
    "dlopen": "dlclose",
    "sqlite3_open": "sqlite3_close",
    "sqlite3_open_v2": "sqlite3_close_v2",
    "sqlite3_prepare_v2": "sqlite3_finalize",
    "getaddrinfo": "freeaddrinfo",
    "cudaMalloc": "cudaFree",
    "cudaMallocHost": "cudaFreeHost",
    "cudaHostAlloc": "cudaFreeHost",
    "cuMemAlloc": "cuMemFree",
    "mmap": "munmap",
    "malloc": "free",
    "calloc": "free",
    "realloc": "free",
    "strdup": "free",
    "__strdup": "free",
    "strndup": "free",
    "__strndup": "free",
    "posix_memalign": "free",
    "aligned_alloc": "free",
    "memalign": "free",
}

_HABITS = (
    (re.compile(r"(\w*?)(_?)Init"), r"\1\2Destroy"),
    (re.compile(r"(\w*?)(_?)init"), r"\1\2destroy"),
    (re.compile(r"(\w*?)(_?)Create"), r"\1\2Destroy or \1\2Free"),
    (re.compile(r"(\w*?)(_?)create"), r"\1\2destroy or \1\2free"),
)


def releaser_of(function: str) -> str | None:
    """The call that gives back what *function* took: ``deflateEnd`` for ``deflateInit_``; None where nobody knows."""
    if function in _RELEASERS:
        return _RELEASERS[function]
    for habit, released in _HABITS:
        match = habit.fullmatch(function)
        if match is not None and match[1]:
            return match.expand(released)
    return None
