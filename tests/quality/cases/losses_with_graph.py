"""Loss terms filed under their names, each with its graph.

What happens: backward frees what the nodes saved only where it ran through them; the auxiliary term is logged and never
part of the total, so that its whole graph stays.
Fix: ``.item()`` before it is filed.
"""

import collections

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["autograd_graph_retained", "held_reference"],
    "line_contains": 'terms["auxiliary"].append(auxiliary)',
    "also_ok": ["hidden = torch.sigmoid(body(x))", "auxiliary = hidden.exp().mean()"],
    "holder": "module global 'terms' (defaultdict of lists, through grad_fn)",
    "bytes_per_step": 78600,
    "channel": "autograd",
}

body, head = torch.nn.Linear(32, 128), torch.nn.Linear(32, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=1e-3)
terms = collections.defaultdict(list)
latest = {}


def losses():
    x = torch.randn(64, 32)
    hidden = torch.sigmoid(body(x))
    auxiliary = hidden.exp().mean()
    main = head(x).pow(2).mean()
    opt.zero_grad()
    main.backward()
    opt.step()
    return main, auxiliary


def step(i):
    _, auxiliary = losses()
    terms["auxiliary"].append(auxiliary)


def fixed_step(i):
    _, other = losses()
    latest["auxiliary"] = other.item()
