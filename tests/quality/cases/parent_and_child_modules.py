"""Modules that know their parents, made and dropped in each step.   NEGATIVE (saw-tooth)

What happens: parent and child refer to one another, so that they wait for the collector.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["late_collection"],
    "holder": "reference cycle parent <-> child (the collector frees it)",
    "bytes_per_step": 0,
    "channel": "tensor",
    "steps": 300,
}


class Child(torch.nn.Module):
    def __init__(self, parent):
        super().__init__()
        self.known_parent = [parent]
        self.layer = torch.nn.Linear(80, 80)


class Parent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Child(self)


def step(i):
    with torch.no_grad():
        Parent().child.layer(torch.randn(2, 80))
