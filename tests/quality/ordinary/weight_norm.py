"""A weight-normed layer and a spectral-normed one, both registered once."""

import torch
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.set_num_threads(1)

model = torch.nn.Sequential(
    weight_norm(torch.nn.Linear(64, 128)), torch.nn.ELU(), spectral_norm(torch.nn.Linear(128, 64))
)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def step(i):
    opt.zero_grad()
    model(torch.randn(32, 64)).pow(2).mean().backward()
    opt.step()
