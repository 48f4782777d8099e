"""A penalty is summed up for reporting, with its graph.

What happens: it never goes into a loss, so backward frees nothing of it; the sum's graph reaches back to step 0.
Fix: ``.detach()``.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "autograd_graph_retained",
    "line_contains": "penalty = penalty + out.abs().mean()",
    "also_ok": ["out = net(torch.randn(96, 30))"],
    "holder": "module global 'penalty' (scalar, through grad_fn)",
    "bytes_per_step": 54900,
    "channel": "autograd",
}

net = torch.nn.Sequential(torch.nn.Linear(30, 100), torch.nn.Tanh())
penalty = torch.zeros(())
reported = 0.0


def step(i):
    global penalty
    out = net(torch.randn(96, 30))
    penalty = penalty + out.abs().mean()


def fixed_step(i):
    global reported
    y = net(torch.randn(96, 30))
    reported = reported + y.abs().mean().item()
