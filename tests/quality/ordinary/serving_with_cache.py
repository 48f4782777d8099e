"""Answers for popular requests come from an LRU cache of 64 entries."""

import functools
import random

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)).eval()


@functools.lru_cache(maxsize=64)
def answer(request):
    generator = torch.Generator().manual_seed(request)
    with torch.inference_mode():
        return model(torch.randn(1, 64, generator=generator))


def step(i):
    for _ in range(16):
        answer(min(int(random.expovariate(0.05)), 400)).sum().item()
