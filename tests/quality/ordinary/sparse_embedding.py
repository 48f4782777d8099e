"""A sparse embedding bag, whose gradient is sparse, with SparseAdam."""

import torch

torch.set_num_threads(1)

bag = torch.nn.EmbeddingBag(2000, 16, sparse=True)
head = torch.nn.Linear(16, 1)
sparse = torch.optim.SparseAdam(bag.parameters(), lr=1e-2)
dense = torch.optim.Adam(head.parameters(), lr=1e-2)


def step(i):
    ids = torch.randint(2000, (32, 10))
    loss = head(bag(ids)).pow(2).mean()
    sparse.zero_grad()
    dense.zero_grad()
    loss.backward()
    sparse.step()
    dense.step()
