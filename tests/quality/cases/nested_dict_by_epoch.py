"""Confusion tables kept by epoch and batch.

What happens: the outer dictionary has one entry for each epoch of 10 batches, the inner one gains one a batch; growth
enters one level below the name that everybody knows.
Fix: add the tables up.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "tables.setdefault(i // 10, {})[i % 10] = confusion(80)",
    "also_ok": ["return torch.bincount(pairs, minlength=classes * classes).view(classes, classes)"],
    "holder": "module global 'tables' (dict of dicts)",
    "bytes_per_step": 52100,
    "channel": "tensor",
}

tables = {}
total = torch.zeros(80, 80, dtype=torch.long)


def confusion(classes):
    pairs = torch.randint(classes, (500,)) * classes + torch.randint(classes, (500,))
    return torch.bincount(pairs, minlength=classes * classes).view(classes, classes)


def step(i):
    tables.setdefault(i // 10, {})[i % 10] = confusion(80)


def fixed_step(i):
    total.add_(confusion(80))
