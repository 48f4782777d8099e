"""A log that is written into one bytearray.

What happens: the number of objects is constant, one of them gets longer.
Fix: write it out every so often.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["python_objects", "held_reference", "native_heap"],
    "line_contains": "log.extend(torch.randn(1024).numpy().tobytes())",
    "holder": "module global 'log' (bytearray)",
    "bytes_per_step": 4100,
    "channel": "python",
    "no_bytes_check": True,
}

log = bytearray()
page = bytearray(4096)


def step(i):
    log.extend(torch.randn(1024).numpy().tobytes())


def fixed_step(i):
    page[:] = torch.randn(1024).numpy().tobytes()
