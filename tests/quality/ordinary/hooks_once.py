"""Hooks registered once: activation statistics by a forward hook, gradients scaled by a tensor hook."""

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
means = {}


def setup():
    for name, layer in model.named_children():
        layer.register_forward_hook(lambda _m, _args, out, name=name: means.update({name: out.detach().mean().item()}))
    model[0].weight.register_hook(lambda g: g * 0.5)
    model[2].register_full_backward_hook(lambda _m, _gi, go: None)


def step(i):
    opt.zero_grad()
    model(torch.randn(64, 64)).pow(2).mean().backward()
    opt.step()
