"""Per-sample gradients by vmap over grad of a functional call."""

import torch
from torch.func import functional_call, grad, vmap

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))


def loss_of(parameters, x, y):
    return (functional_call(model, parameters, (x.unsqueeze(0),)).squeeze() - y).pow(2)


per_sample = vmap(grad(loss_of), in_dims=(None, 0, 0))


def step(i):
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    gradients = per_sample(parameters, torch.randn(32, 16), torch.randn(32))
    with torch.no_grad():
        for name, p in model.named_parameters():
            g = gradients[name]
            norms = g.flatten(1).norm(dim=1).clamp(min=1.0)
            p -= 1e-3 * (g / norms.view(-1, *[1] * (g.dim() - 1))).mean(0)
