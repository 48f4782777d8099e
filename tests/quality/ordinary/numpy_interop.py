"""Batches come as numpy arrays and results go back as numpy arrays."""

import numpy as np
import torch

torch.set_num_threads(1)

rng = np.random.default_rng(0)
model = torch.nn.Linear(128, 16)
mean, count = np.zeros(16), 0


def step(i):
    global mean, count
    batch = rng.standard_normal((256, 128), dtype=np.float32)
    with torch.no_grad():
        out = model(torch.from_numpy(batch)).numpy()
    count += len(out)
    mean = mean + (out.mean(axis=0) - mean) * len(out) / count
    np.percentile(out, [5, 50, 95])
