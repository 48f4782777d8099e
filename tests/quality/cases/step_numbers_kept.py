"""One float a step is kept: below what is called a leak.   NEGATIVE (policy: a note)

What happens: some hundred bytes a step of plain scalars. A million steps of it are 100 MB.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["none"],
    "holder": "module global 'losses' (dict of floats)",
    "bytes_per_step": 0,
    "channel": "python",
    "benign_growth": True,
}

net = torch.nn.Linear(8, 1)
losses = {}


def step(i):
    with torch.no_grad():
        losses[i] = net(torch.randn(16, 8)).pow(2).mean().item()
