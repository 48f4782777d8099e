"""A class made for each task, and all of them listed by their base.

What happens: ``__init_subclass__`` registers every class that is ever made. A class is a large object by itself, and
this one has a table of weights.
Fix: instances instead of classes, or a WeakSet.
"""

import gc

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "Task.known.append(cls)",
    "also_ok": ['return type(f"Task{number}", (base,), {"weights": torch.full((8000,), 1.0 / (number + 1))})'],
    "holder": "class attribute 'known' (list of classes) of 'Task'",
    "bytes_per_step": 34200,
    "channel": "tensor",
}


class Task:
    known = []

    def __init_subclass__(cls):
        Task.known.append(cls)


class Unlisted:
    pass


def make(number, base):
    return type(f"Task{number}", (base,), {"weights": torch.full((8000,), 1.0 / (number + 1))})


def step(i):
    make(i, Task).weights.sum()


def fixed_step(i):
    make(i, Unlisted).weights.sum()
    if i % 5 == 4:
        gc.collect()  # a class is a cycle
