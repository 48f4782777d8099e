"""Samples that were seen are kept in a set.

What happens: a tensor's hash is its identity, so that no tensor is ever found in the set: it grows by all of them.
Fix: a set of sample numbers.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "self.seen.add(sample)",
    "also_ok": ["return [torch.randn(1500) for _ in range(4)]"],
    "holder": "attribute 'seen' (set) of module global 'sampler'",
    "bytes_per_step": 25800,
    "channel": "tensor",
}


def make_batch():
    return [torch.randn(1500) for _ in range(4)]


class Sampler:
    def __init__(self):
        self.seen = set()
        self.numbers = set()

    def take(self):
        for sample in make_batch():
            if sample not in self.seen:
                self.seen.add(sample)

    def take_number(self, i):
        for k, sample in enumerate(make_batch()):
            if sample.sum() and k + i % 8 not in self.numbers:
                self.numbers.add(k + i % 8)


sampler = Sampler()


def step(i):
    sampler.take()


def fixed_step(i):
    sampler.take_number(i)
