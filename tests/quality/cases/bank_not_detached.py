"""A memory bank of bounded length whose entries carry their graph.

What happens: the bank always has 64 rows, but ``cat`` and slicing are recorded: row by row it drags in every step.
Fix: detach what goes into the bank.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "autograd_graph_retained",
    "line_contains": "bank = torch.cat([bank, keys])[-64:]",
    "also_ok": ["keys = torch.nn.functional.normalize(encoder(torch.randn(16, 48)), dim=1)"],
    "holder": "module global 'bank' (through grad_fn)",
    "bytes_per_step": 15500,
    "channel": "autograd",
}

encoder = torch.nn.Linear(48, 64)
bank = torch.zeros(64, 64)
clean_bank = torch.zeros(64, 64)


def step(i):
    global bank
    keys = torch.nn.functional.normalize(encoder(torch.randn(16, 48)), dim=1)
    bank = torch.cat([bank, keys])[-64:]


def fixed_step(i):
    global clean_bank
    with torch.no_grad():
        k = torch.nn.functional.normalize(encoder(torch.randn(16, 48)), dim=1)
        clean_bank = torch.cat([clean_bank, k])[-64:]
