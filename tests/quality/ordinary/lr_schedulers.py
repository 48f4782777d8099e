"""Warm-up, cosine and plateau schedules in sequence, and a deque of the latest losses."""

import collections
import statistics

import torch
from torch.optim import lr_scheduler

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.SiLU(), torch.nn.Linear(128, 1))
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
schedule = lr_scheduler.SequentialLR(
    opt,
    [lr_scheduler.LinearLR(opt, 0.1, total_iters=30), lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=40)],
    milestones=[30],
)
recent = collections.deque(maxlen=50)


def step(i):
    opt.zero_grad()
    loss = model(torch.randn(64, 64)).pow(2).mean()
    loss.backward()
    opt.step()
    schedule.step()
    recent.append(loss.item())
    statistics.fmean(recent)
