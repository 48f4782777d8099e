"""A pipe for each helper, and the numbers of its ends are forgotten.

What happens: a descriptor is an int; when the last Python reference to it is gone, the descriptor is still open.
Fix: close both ends.
"""

import os

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "fd_growth",
    "line_contains": "read, write = os.pipe()",
    "holder": "none (lost descriptors)",
    "bytes_per_step": 0,
    "channel": "fd",
    "no_bytes_check": True,
}

x = torch.randn(100)


def step(i):
    read, write = os.pipe()
    os.write(write, b"%f" % x.sum().item())
    os.read(read, 100)


def fixed_step(i):
    source, sink = os.pipe()
    os.write(sink, b"%f" % x.sum().item())
    os.read(source, 100)
    os.close(source)
    os.close(sink)
