"""A mask for each length that turns up, 24 lengths at random.   NEGATIVE

What happens: new ones come ever more rarely.
"""

import random

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["shape_cache", "bounded_cache", "warm_up"],
    "holder": "module global 'masks' (dict by length)",
    "bytes_per_step": 0,
    "channel": "none",
}

masks = {}


def step(i):
    length = 16 + 4 * random.randrange(24)
    if length not in masks:
        masks[length] = torch.ones(length, length).triu_(1)
    torch.zeros(length, length).masked_fill(masks[length].bool(), 1.0)
