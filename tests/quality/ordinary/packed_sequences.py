"""Sentences of random lengths, padded, packed, and pooled by a GRU."""

import random

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.set_num_threads(1)

rnn = torch.nn.GRU(24, 48, batch_first=True, bidirectional=True)
head = torch.nn.Linear(96, 3)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])


def step(i):
    sentences = [torch.randn(random.randrange(2, 30), 24) for _ in range(16)]
    lengths = torch.tensor([len(s) for s in sentences])
    packed = pack_padded_sequence(
        pad_sequence(sentences, batch_first=True), lengths, batch_first=True, enforce_sorted=False
    )
    out, _ = pad_packed_sequence(rnn(packed)[0], batch_first=True)
    loss = torch.nn.functional.cross_entropy(head(out.amax(1)), torch.randint(3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
