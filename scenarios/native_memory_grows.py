"""A10: the memory of the process grows, and neither Python nor torch knows of it.

Symptom: the process grows until the system ends it. The heap of Python looks fine, and so does every list of tensors.

Why: C code allocated the memory, and gave Python no more than an address. No collector and no reference count stands
    behind a number: what ``malloc`` gave, only ``free`` takes back.

How it shows: leak, cause native_heap, 64 KiB a step. Tensors and Python objects are measured apart and stay level; the
    account of resident memory (``conservation``) has the growth as ``native_heap``; native stacks name the C function.

Fix: free it on every way out, or give the address an owner that does: ``weakref.finalize``, or a context manager.
"""

from __future__ import annotations

import ctypes

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Memory that C code allocated is never freed",
    pitfall="An address is a number: no collector and no reference count stands behind it.",
    fix="Free it on every way out, or give it an owner that does.",
    tags=("memory", "native"),
    expect=leak("native_heap"),
)

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]
BYTES = 65536


def decode(batch: torch.Tensor) -> int:
    """What a C library's decoder does: it allocates its result, fills it, and returns the address."""
    address: int = LIBC.malloc(BYTES)
    ctypes.memmove(address, batch.data_ptr(), BYTES)
    return address


def step(i: int) -> None:
    decode(torch.ones(BYTES // 4))


def fixed_step(i: int) -> None:
    address = decode(torch.ones(BYTES // 4))
    LIBC.free(address)
