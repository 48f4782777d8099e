"""A key-value cache of 8 MB is made at the first long request, at step 40, and stays.   NEGATIVE"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["one_time_allocation"],
    "holder": "module global 'cache'",
    "bytes_per_step": 0,
    "channel": "none",
}

cache = None


def step(i):
    global cache
    tokens = torch.randn(400 if i % 41 == 40 else 20, 64)
    if len(tokens) > 100 and cache is None:
        cache = torch.zeros(2_000_000)
    if cache is not None:
        cache[: tokens.numel()] = tokens.flatten()
