"""A persistent memory that is faded and written to in place, with gradients on.

What happens: in-place operators record their graph just as others do. The tensor keeps its size, its history does not.
Fix: ``no_grad`` around the update.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "autograd_graph_retained",
    "line_contains": "memory.mul_(0.9).add_(encoder(torch.randn(20, 64)))",
    "holder": "module global 'memory' (through grad_fn)",
    "bytes_per_step": 28000,
    "channel": "autograd",
}

encoder = torch.nn.Sequential(torch.nn.Linear(64, 200), torch.nn.Sigmoid(), torch.nn.Linear(200, 32))
memory = torch.zeros(20, 32)
store = torch.zeros(20, 32)


def step(i):
    memory.mul_(0.9).add_(encoder(torch.randn(20, 64)))


def fixed_step(i):
    with torch.no_grad():
        store.mul_(0.9).add_(encoder(torch.randn(20, 64)))
