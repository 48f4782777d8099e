"""A WeakKeyDictionary whose values refer to their keys.

What happens: the value (a plan) keeps its module, the module is the key, so the entry keeps itself; the table is weak
in name only.
Fix: keep the plan on the module.
"""

import weakref

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "plans[layer] = Plan(layer)",
    "also_ok": ["layer = torch.nn.Linear(70, 90)"],
    "holder": "module global 'plans' (WeakKeyDictionary, value refers to key)",
    "bytes_per_step": 26700,
    "channel": "tensor",
}


class Plan:
    def __init__(self, layer):
        self.layer = layer


plans = weakref.WeakKeyDictionary()


def step(i):
    layer = torch.nn.Linear(70, 90)
    plans[layer] = Plan(layer)


def fixed_step(i):
    other = torch.nn.Linear(70, 90)
    plans[other] = Plan(weakref.proxy(other))
