"""One step is an epoch of a loader that loads in the process itself, shuffled, the last batch smaller."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)

loader = DataLoader(TensorDataset(torch.randn(300, 32), torch.randint(4, (300,))), batch_size=64, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
opt = torch.optim.Adam(model.parameters())
history = {"loss": 0.0, "epochs": 0}


def step(i):
    total = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        total += loss.item()
    history["loss"], history["epochs"] = total / len(loader), i + 1
