"""The optimizer's parameters are replaced, and its state for the old ones stays.

What happens: a new head is put into ``param_groups`` in place of the old one; ``state`` is keyed by the parameter, so
that the old head, its gradient and its two moments are never dropped.
Fix: ``del opt.state[old]``.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["optimizer_state_growth", "held_reference"],
    "line_contains": 'opt.param_groups[0]["params"] = [head]',
    "also_ok": ["opt.step()  # new state", "head = torch.nn.Parameter(torch.randn(40, 50))", "loss.backward()"],
    "holder": "attribute 'state' of module global 'opt'",
    "bytes_per_step": 34700,
    "channel": "tensor",
}

head = torch.nn.Parameter(torch.randn(40, 50))
opt = torch.optim.Adam([head], lr=1e-3)


def learn(parameter):
    loss = (torch.randn(16, 40) @ parameter).pow(2).mean()
    loss.backward()


def step(i):
    global head
    head = torch.nn.Parameter(torch.randn(40, 50))
    opt.param_groups[0]["params"] = [head]
    learn(head)
    opt.step()  # new state


def fixed_step(i):
    fresh = torch.nn.Parameter(torch.empty(40, 50).normal_())
    opt.state.clear()
    opt.param_groups[0]["params"] = [fresh]
    learn(fresh)
    opt.step()
