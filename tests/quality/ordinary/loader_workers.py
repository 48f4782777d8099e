"""A loader with two workers, made once; a step takes one batch, and the next epoch begins where one ends."""

import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Pictures(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, k):
        generator = torch.Generator().manual_seed(k)
        return torch.rand(3, 16, 16, generator=generator), k % 10


model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)


def setup():
    global loader, batches
    loader = DataLoader(Pictures(), batch_size=16, num_workers=2, persistent_workers=True, shuffle=True)
    batches = iter(loader)


def step(i):
    global batches
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        x, y = next(batches)
    opt.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    opt.step()


def teardown():
    loader._iterator._shutdown_workers()
