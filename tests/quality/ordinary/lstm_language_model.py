"""A language model on sequences of varying length, the state detached between chunks."""

import random

import torch

torch.set_num_threads(1)

VOCABULARY = 200
embed = torch.nn.Embedding(VOCABULARY, 32)
rnn = torch.nn.LSTM(32, 64, batch_first=True)
head = torch.nn.Linear(64, VOCABULARY)
opt = torch.optim.Adam([*embed.parameters(), *rnn.parameters(), *head.parameters()])
state = (torch.zeros(1, 16, 64), torch.zeros(1, 16, 64))


def step(i):
    global state
    tokens = torch.randint(VOCABULARY, (16, random.randrange(8, 24)))
    out, after = rnn(embed(tokens[:, :-1]), state)
    state = tuple(s.detach() for s in after)
    loss = torch.nn.functional.cross_entropy(head(out).flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
