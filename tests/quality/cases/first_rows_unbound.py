"""The first token of each sequence is kept, by way of unbind.

What happens: ``unbind`` gives views; one of 60 keeps the storage of all.
Fix: clone.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["view_keeps_storage", "held_reference"],
    "line_contains": "firsts.append(hidden.unbind(1)[0])",
    "also_ok": ["hidden = torch.tanh(net(torch.randn(8, 60, 16)))"],
    "holder": "module global 'firsts' (list of views)",
    "bytes_per_step": 62300,
    "channel": "tensor",
}

net = torch.nn.Linear(16, 32)
firsts = []
newest = None


def step(i):
    with torch.no_grad():
        hidden = torch.tanh(net(torch.randn(8, 60, 16)))
    firsts.append(hidden.unbind(1)[0])


def fixed_step(i):
    global newest
    with torch.no_grad():
        h = torch.tanh(net(torch.randn(8, 60, 16)))
    newest = h.unbind(1)[0].clone()
