"""Batches of any size, all dropped within the step.   NEGATIVE

What happens: up to 20 MB come and go in each step.
"""

import random

import torch

torch.set_num_threads(1)

EXPECT = {"leak": False, "cause": "none", "look_alike": ["none"], "bytes_per_step": 0, "channel": "none"}


def step(i):
    parts = [torch.ones(random.randrange(100, 300_000)) for _ in range(random.randrange(1, 30))]
    sum(float(part[-1]) for part in parts)
