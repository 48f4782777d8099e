"""A C function returns a copy of a string that the caller has to free.

What happens: with ``restype = c_char_p`` ctypes makes Python bytes of it and forgets the pointer.
Fix: ``restype = c_void_p``, read, free.
"""

import ctypes

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "native_heap",
    "line_contains": "libc.strdup(text)",
    "holder": "none (lost pointer in the C heap)",
    "bytes_per_step": 9030,
    "channel": "native",
}

libc = ctypes.CDLL(None)
libc.strdup.restype, libc.strdup.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
other = ctypes.CDLL(None)
other.strdup.restype, other.strdup.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
other.free.argtypes = [ctypes.c_void_p]
text = b"token " * 1500
vocabulary = torch.randn(64)


def step(i):
    libc.strdup(text)
    vocabulary.sum()


def fixed_step(i):
    p = other.strdup(text)
    vocabulary.sum()
    other.free(p)
