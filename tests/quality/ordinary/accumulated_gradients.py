"""Gradients of four micro-batches are summed before each update; the loss is kept as a float."""

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
running = 0.0


def step(i):
    global running
    opt.zero_grad()
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(10, (32,))) / 4
        loss.backward()
        running += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
