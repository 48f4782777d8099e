"""A compiled model of one shape; the guards are compiled in the first steps."""

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
compiled = torch.compile(model, backend="aot_eager")
opt = torch.optim.SGD(model.parameters(), lr=1e-3)


def step(i):
    opt.zero_grad()
    compiled(torch.randn(64, 64)).pow(2).mean().backward()
    opt.step()
