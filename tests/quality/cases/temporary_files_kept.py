"""A temporary file for each shard, kept open in a table.

Fix: ``with``.
"""

import tempfile

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["fd_growth", "held_reference"],
    "line_contains": "shards.append(tempfile.TemporaryFile())",
    "holder": "module global 'shards' (list of files)",
    "bytes_per_step": 4610,
    "channel": "fd",
    "no_bytes_check": True,
}

shards = []


def step(i):
    shards.append(tempfile.TemporaryFile())
    shards[-1].write(torch.randn(16).numpy().tobytes())


def fixed_step(i):
    with tempfile.TemporaryFile() as shard:
        shard.write(torch.randn(16).numpy().tobytes())


def teardown():
    for shard in shards:
        shard.close()
