"""Predictions are kept as numpy arrays.

What happens: ``numpy()`` of a tensor on the CPU shares its storage, but ``astype`` copies, so the growth is in numpy's
own memory and no tensor survives.
Fix: write them out.
"""

import numpy as np
import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["held_reference", "python_objects", "native_heap"],
    "line_contains": "predictions.append(net(torch.randn(100, 16)).numpy().astype(np.float64))",
    "holder": "module global 'predictions' (list of arrays)",
    "bytes_per_step": 32200,
    "channel": "native",
}

net = torch.nn.Linear(16, 40)
predictions = []
means = np.zeros(40)


def step(i):
    with torch.no_grad():
        predictions.append(net(torch.randn(100, 16)).numpy().astype(np.float64))


def fixed_step(i):
    with torch.no_grad():
        means[:] = net(torch.randn(100, 16)).numpy().mean(0)
