"""Validation outputs gathered in a field of the trainer's state, for a summary that nobody asks for.

What happens: ``default_factory=list`` gives each state its own list, but there is one state for the whole run.
Fix: keep the number.
"""

from dataclasses import dataclass, field

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "state.outputs.append(out)",
    "also_ok": ["out = model(torch.randn(64, 40))"],
    "holder": "module global 'state' (its field 'outputs', a list)",
    "bytes_per_step": 26000,
    "channel": "tensor",
}


@dataclass
class State:
    epoch: int = 0
    outputs: list = field(default_factory=list)
    total: float = 0.0


state = State()
model = torch.nn.Linear(40, 100)


def step(i):
    with torch.no_grad():
        out = model(torch.randn(64, 40))
    state.outputs.append(out)


def fixed_step(i):
    with torch.no_grad():
        y = model(torch.randn(64, 40))
    state.total += y.sum().item()
