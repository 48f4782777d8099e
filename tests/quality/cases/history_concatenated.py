"""A curve that grows by concatenation.

What happens: there is always exactly one tensor, and it is longer each time. Each step's storage dies in the next.
Fix: write into a table of fixed size.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "curve = torch.cat([curve, net(torch.randn(64, 32)).flatten()])",
    "holder": "module global 'curve' (one tensor, ever longer)",
    "bytes_per_step": 2060,
    "channel": "tensor",
}

net = torch.nn.Linear(32, 8)
curve = torch.empty(0)
latest = torch.empty(512)


def step(i):
    global curve
    with torch.no_grad():
        curve = torch.cat([curve, net(torch.randn(64, 32)).flatten()])


def fixed_step(i):
    with torch.no_grad():
        latest.copy_(net(torch.randn(64, 32)).flatten())
