"""A new head for each class that turns up, and every step is taken for a new class.

Fix: one head with room for all classes.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["module_growth", "held_reference"],
    "line_contains": "self.heads.append(torch.nn.Linear(60, 12))",
    "holder": "attribute 'heads' (ModuleList) of module global 'net'",
    "bytes_per_step": 4070,
    "channel": "tensor",
}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(60, 60)
        self.heads = torch.nn.ModuleList()

    def grow(self):
        self.heads.append(torch.nn.Linear(60, 12))
        return self.heads[-1]


net = Net()
only = torch.nn.Linear(60, 12)


def step(i):
    with torch.no_grad():
        net.grow()(net.body(torch.randn(8, 60)))


def fixed_step(i):
    with torch.no_grad():
        only(net.body(torch.randn(8, 60)))
