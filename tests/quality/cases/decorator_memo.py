"""A memo decorator keyed by the identity of its argument.

What happens: each batch is a new object, so the memo never answers; its dictionary lives in a closure cell of the
decorated function, which no module attribute names. It keeps the argument too, so that its identity stays unique.
Fix: no memo on what never comes twice.
"""

import functools

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "memo[id(x)] = (x, f(x))",
    "also_ok": ["encode(torch.randn(50, 80))", "return torch.tanh(x)"],
    "holder": "closure cell 'memo' of the function 'encode'",
    "bytes_per_step": 32800,
    "channel": "tensor",
}


def remembered(f):
    memo = {}

    @functools.wraps(f)
    def asked(x):
        if id(x) not in memo:
            memo[id(x)] = (x, f(x))
        return memo[id(x)][1]

    return asked


@remembered
def encode(x):
    return torch.tanh(x)


def step(i):
    encode(torch.randn(50, 80))


def fixed_step(i):
    encode.__wrapped__(torch.randn(50, 80))
