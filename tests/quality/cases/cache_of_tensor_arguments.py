"""functools.cache on a function of tensors.

What happens: tensors are hashed by identity, so each call is a miss; key and result stay. The cache is a C object.
Fix: cache by what the result depends on: the length.
"""

import functools

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "@functools.cache",
    "also_ok": [
        "return torch.ones(len(tokens), len(tokens)).tril_()",
        "tokens = torch.randint(100, (64,))",
        "causal_mask(tokens)",
    ],
    "holder": "functools cache of 'causal_mask'",
    "bytes_per_step": 17700,
    "channel": "tensor",
}


@functools.cache
def causal_mask(tokens):
    return torch.ones(len(tokens), len(tokens)).tril_()


@functools.lru_cache(maxsize=8)
def mask_of_length(length):
    return torch.ones(length, length).tril_()


def step(i):
    tokens = torch.randint(100, (64,))
    causal_mask(tokens)


def fixed_step(i):
    mask_of_length(len(torch.randint(100, (64,))))
