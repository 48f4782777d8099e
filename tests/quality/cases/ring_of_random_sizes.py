"""The last 30 batches, each of another length.   NEGATIVE

What happens: number constant after 30 steps, bytes up and down for ever.
"""

import collections
import random

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["bounded_cache", "warm_up", "steady_churn"],
    "holder": "module global 'window' (deque, maxlen 30)",
    "bytes_per_step": 0,
    "channel": "none",
}

window = collections.deque(maxlen=30)


def step(i):
    window.append(torch.randn(random.randrange(100, 4000), 4))
    sum(float(batch[0, 0]) for batch in window)
