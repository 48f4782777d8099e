"""Each error is raised from the one before, for a complete story.

What happens: ``__cause__`` links the newest error to all earlier ones, each with its traceback, each traceback with the
frame of ``load`` and its half-read block.
Fix: keep the newest message.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["exception_traceback", "held_reference"],
    "line_contains": "last_error = error",
    "also_ok": ["block = torch.randn(9000)", 'raise OSError("short read") from before'],
    "holder": "module global 'last_error' (chain of __cause__; frame local 'block')",
    "bytes_per_step": 36400,
    "channel": "tensor",
}

last_error = None
last_message = ""


def load(before):
    block = torch.randn(9000)
    if block.numel() < 10_000:
        raise OSError("short read") from before
    return block


def step(i):
    global last_error
    try:
        load(last_error)
    except OSError as error:
        last_error = error


def fixed_step(i):
    global last_message
    try:
        load(None)
    except OSError as problem:
        last_message = str(problem)


def teardown():
    global last_error
    while last_error is not None:  # one by one: the interpreter frees a long chain by recursion
        last_error = last_error.__cause__
