"""Activations are recomputed in the backward pass, and the state is saved into one file every tenth step."""

import io

import torch
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)

blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.Tanh()) for _ in range(4))
opt = torch.optim.Adam(blocks.parameters(), lr=1e-3)
saved = io.BytesIO()


def step(i):
    x = torch.randn(64, 96)
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    opt.zero_grad()
    x.pow(2).mean().backward()
    opt.step()
    if i % 10 == 9:
        saved.seek(0)
        saved.truncate()
        torch.save({"model": blocks.state_dict(), "optimizer": opt.state_dict(), "step": i}, saved)
