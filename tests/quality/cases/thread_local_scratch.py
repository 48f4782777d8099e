"""Scratch space by shape in a thread-local dictionary of a pool's thread.

What happens: the key has the request's number in it, so every request brings its own scratch; it belongs to the thread
of the pool, where the main thread does not see it.
Fix: key by shape.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "scratch.spaces[key] = torch.empty(rows, 96).fill_(0)",
    "holder": "thread-local attribute 'spaces' (dict) of the pool's thread",
    "bytes_per_step": 38800,
    "channel": "tensor",
    "background_thread": True,
}

scratch = threading.local()


def setup():
    global pool
    pool = ThreadPoolExecutor(1)


def work(key, rows):
    if not hasattr(scratch, "spaces"):
        scratch.spaces = {}
    if key not in scratch.spaces:
        scratch.spaces[key] = torch.empty(rows, 96).fill_(0)
    return scratch.spaces[key].add_(1).sum().item()


def step(i):
    pool.submit(work, (i, 100), 100).result()


def fixed_step(i):
    pool.submit(work, 100, 100).result()


def teardown():
    pool.shutdown()
