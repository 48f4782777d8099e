"""A prototype is registered as a buffer under a new name in each step.

Fix: one buffer, written into.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["module_growth", "held_reference"],
    "line_contains": 'net.register_buffer(f"prototype_{i}", features)',
    "also_ok": ["features = net(torch.randn(32, 64)).mean(0, keepdim=True).repeat(10, 1)"],
    "holder": "module global 'net' (its buffers)",
    "bytes_per_step": 10600,
    "channel": "tensor",
}

net = torch.nn.Linear(64, 256)


def step(i):
    with torch.no_grad():
        features = net(torch.randn(32, 64)).mean(0, keepdim=True).repeat(10, 1)
    net.register_buffer(f"prototype_{i}", features)


def fixed_step(i):
    with torch.no_grad():
        f = net(torch.randn(32, 64)).mean(0, keepdim=True).repeat(10, 1)
    net.register_buffer("prototype", f)
