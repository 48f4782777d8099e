"""An LRU cache of 48 entries for random requests.   NEGATIVE

What happens: it fills ever more slowly, then each new entry ends an old one.
"""

import functools
import random

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["bounded_cache", "warm_up"],
    "holder": "functools cache of 'rotation' (maxsize 48)",
    "bytes_per_step": 0,
    "channel": "none",
}


@functools.lru_cache(maxsize=48)
def rotation(angle):
    return torch.full((50, 50), float(angle))


def step(i):
    rotation(random.randrange(300)).sum()
