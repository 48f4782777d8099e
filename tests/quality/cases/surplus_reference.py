"""An extension that takes a reference too many.

What happens: C code calls ``Py_INCREF`` on a tensor that it borrows and never gives it back. The tensor has a reference
count of one, and nobody who refers to it.
Fix: Py_DECREF.
"""

import ctypes

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "lost_reference",
    "line_contains": "take(ctypes.py_object(x))",
    "also_ok": ["x = torch.randn(60, 100)"],
    "holder": "none (lost reference count, no referrer)",
    "bytes_per_step": 24400,
    "channel": "tensor",
}

take = ctypes.pythonapi.Py_IncRef
give = ctypes.pythonapi.Py_DecRef
for function in (take, give):
    function.argtypes, function.restype = [ctypes.py_object], None


def step(i):
    x = torch.randn(60, 100)
    take(ctypes.py_object(x))


def fixed_step(i):
    y = torch.randn(60, 100)
    take(ctypes.py_object(y))
    give(ctypes.py_object(y))
