"""Two leaks: activations in a list that a hook fills, and a file opened in each step.

What happens: the large one is easily found; the descriptors run out first.
Fix: both.
"""

import os

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["held_reference", "hook_accumulation"],
    "line_contains": "kept.append(out.detach())",
    "also_ok": ["layer(torch.randn(16, 20))"],
    "holder": "module global 'kept' (list)",
    "bytes_per_step": 19600,
    "channel": "tensor",
    "second": {
        "cause": "fd_growth",
        "line_contains": "os.open(os.devnull, os.O_WRONLY)",
        "holder": "none (lost descriptor)",
        "no_bytes_check": True,
        "channel": "fd",
    },
}

layer = torch.nn.Linear(20, 300)
kept = []
keeping = False


def keep(module, args, out):
    if keeping:
        kept.append(out.detach())


def setup():
    layer.register_forward_hook(keep)


def step(i):
    global keeping
    keeping = True
    with torch.no_grad():
        layer(torch.randn(16, 20))
    os.open(os.devnull, os.O_WRONLY)


def fixed_step(i):
    global keeping
    keeping = False
    with torch.no_grad():
        layer(torch.empty(16, 20).normal_())
    os.close(os.open(os.devnull, os.O_RDWR))
