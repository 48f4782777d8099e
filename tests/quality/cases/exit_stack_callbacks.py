"""One ExitStack for the whole run, with a clean-up a step.

What happens: the stack is left at the end of the program; each callback waits there with its tensor.
Fix: a stack for each step.
"""

import contextlib

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "stack.callback(release, buffer)",
    "also_ok": ["buffer = torch.rand(128, 60)"],
    "holder": "module global 'stack' (ExitStack, its deque of callbacks)",
    "bytes_per_step": 31100,
    "channel": "tensor",
}

stack = contextlib.ExitStack()


def release(buffer):
    buffer.zero_()


def step(i):
    buffer = torch.rand(128, 60)
    stack.callback(release, buffer)


def fixed_step(i):
    with contextlib.ExitStack() as own:
        own.callback(release, torch.rand(128, 60))


def teardown():
    stack.close()
