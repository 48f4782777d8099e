"""A gradient mask is put on the same weight in each step.

What happens: ``register_hook`` on a parameter that lives for ever adds; it does not replace.
Fix: one hook that reads the present mask.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["hook_accumulation", "held_reference"],
    "line_contains": "layer.weight.register_hook(lambda g: g * mask)",
    "also_ok": ["mask = (torch.rand(120, 50) > 0.1).float()"],
    "holder": "attribute '_backward_hooks' of the parameter 'weight' (closure cell 'mask')",
    "bytes_per_step": 25000,
    "channel": "tensor",
    "steps": 120,
}

layer = torch.nn.Linear(50, 120)


def step(i):
    mask = (torch.rand(120, 50) > 0.1).float()
    layer.weight.register_hook(lambda g: g * mask)
    layer.weight.grad = None
    layer(torch.randn(8, 50)).pow(2).mean().backward()


def fixed_step(i):
    m = torch.rand(120, 50).gt(0.1).float()
    handle = layer.weight.register_hook(lambda g: g * m)
    layer.weight.grad = None
    layer(torch.randn(8, 50)).pow(2).mean().backward()
    handle.remove()
