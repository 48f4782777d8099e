"""Log records with tensors as arguments wait in a memory handler.

What happens: a record keeps its arguments until it is formatted, and this handler formats them when its target asks,
which is never below the level ERROR or before 100,000 records.
Fix: log numbers.
"""

import logging
import logging.handlers

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": 'log.info("step %d: %s", i, loss_by_sample)',
    "also_ok": ["loss_by_sample = model(torch.randn(2000, 8)).squeeze(1)"],
    "holder": "attribute 'buffer' (list of log records) of a logging handler",
    "bytes_per_step": 8870,
    "channel": "tensor",
}

log = logging.getLogger("kept.in.memory")
model = torch.nn.Linear(8, 1)


def setup():
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(logging.handlers.MemoryHandler(100_000, target=logging.NullHandler()))


def step(i):
    with torch.no_grad():
        loss_by_sample = model(torch.randn(2000, 8)).squeeze(1)
    log.info("step %d: %s", i, loss_by_sample)


def fixed_step(i):
    with torch.no_grad():
        rows = model(torch.randn(2000, 8)).squeeze(1)
    log.debug("step %d: %f", i, rows.mean().item())
