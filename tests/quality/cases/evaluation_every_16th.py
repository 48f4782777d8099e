"""Every 16th step evaluates and leaves its outputs until the next step.   NEGATIVE

What happens: a peak of 2 MB on one boundary of 16.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["periodic_peak"],
    "holder": "module global 'outputs' (list, emptied in the next step)",
    "bytes_per_step": 0,
    "channel": "tensor",
}

net = torch.nn.Linear(64, 256)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
outputs = []


def step(i):
    outputs.clear()
    opt.zero_grad()
    net(torch.randn(32, 64)).pow(2).mean().backward()
    opt.step()
    if i % 16 == 15:
        with torch.no_grad():
            outputs.extend(net(torch.randn(128, 64)) for _ in range(16))
