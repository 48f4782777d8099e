"""Every checkpoint registers its own clean-up at exit.

What happens: the interpreter's table of exit functions is a C array; each entry keeps its arguments until the end.
Fix: register one function once.
"""

import atexit

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["held_reference", "lost_reference"],
    "line_contains": "atexit.register(flush, weights)",
    "also_ok": ["weights = torch.randn(90, 90)"],
    "holder": "atexit's native table of functions (no Python referrer)",
    "bytes_per_step": 32800,
    "channel": "tensor",
}

newest = {}


def flush(tensor):
    pass


def step(i):
    weights = torch.randn(90, 90)
    atexit.register(flush, weights)


def fixed_step(i):
    if not newest:
        atexit.register(newest.clear)
    newest["weights"] = torch.randn(90, 90)
