"""A weak table that keeps strong callbacks.

What happens: ``weakref.ref(owner, callback)`` is meant to clear up after the owner, but the owner lives for ever, the
references are kept, and each callback closes over its step's pages.
Fix: one callback that takes what it needs from the reference.
"""

import weakref

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "watchers.append(weakref.ref(owner, lambda _: pages.zero_()))",
    "also_ok": ["pages = torch.zeros(25_000)"],
    "holder": "module global 'watchers' (list of weak references; closure cell 'pages')",
    "bytes_per_step": 100000,
    "channel": "tensor",
}


class Owner:
    pass


owner = Owner()
watchers = []
watcher = None


def step(i):
    pages = torch.zeros(25_000)
    watchers.append(weakref.ref(owner, lambda _: pages.zero_()))


def fixed_step(i):
    global watcher
    room = torch.zeros(25_000)
    watcher = weakref.ref(owner, lambda _: room.zero_())


def teardown():
    watchers.clear()
