"""Results are handed over in shared memory that is closed and never unlinked.

What happens: ``close`` unmaps; the segment itself is a file in shared memory that lives until it is unlinked. The
process looks flat: it holds neither memory nor descriptor.
Fix: ``unlink`` when the reader is done.
"""

from multiprocessing import shared_memory

import numpy as np
import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "shared_memory_growth",
    "line_contains": "segment = shared_memory.SharedMemory(create=True, size=80_000)",
    "also_ok": ["names.append(hand_over())"],
    "holder": "none (lost files in shared memory)",
    "bytes_per_step": 80000,
    "channel": "shm",
    "steps": 120,
}

names = []


def hand_over():
    segment = shared_memory.SharedMemory(create=True, size=80_000)
    out = torch.from_numpy(np.frombuffer(segment.buf, dtype=np.float32)[:20_000])
    out.fill_(1.0)
    del out
    segment.close()
    return segment.name


def remove(name):
    left = shared_memory.SharedMemory(name=name)
    left.close()
    left.unlink()


def step(i):
    names.append(hand_over())


def fixed_step(i):
    remove(hand_over())


def teardown():
    for name in names:
        remove(name)
