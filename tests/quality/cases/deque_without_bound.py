"""A replay memory whose bound was forgotten.

What happens: a deque without maxlen is a list that can be popped from both ends, and nobody pops.
Fix: maxlen.
"""

import collections

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "memory.append((state, action, reward, after))",
    "also_ok": ["state, after = torch.randn(4, 42, 42), torch.randn(4, 42, 42)"],
    "holder": "module global 'memory' (deque of tuples)",
    "bytes_per_step": 57200,
    "channel": "tensor",
}

memory = collections.deque()
short_memory = collections.deque(maxlen=5)


def step(i):
    state, after = torch.randn(4, 42, 42), torch.randn(4, 42, 42)
    action, reward = int(state.sum() > 0), float(after.mean())
    memory.append((state, action, reward, after))


def fixed_step(i):
    one, two = torch.randn(4, 42, 42), torch.randn(4, 42, 42)
    short_memory.append((one, int(one.sum() > 0), float(two.mean()), two))
