"""The collector is off and called on every 40th step; errors leave cycles.   NEGATIVE (saw-tooth)

What happens: each failed attempt is a cycle of error, traceback and frame, with a batch in the frame.
"""

import gc

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["late_collection"],
    "holder": "reference cycles exception <-> frame of 'attempt'",
    "bytes_per_step": 0,
    "channel": "tensor",
    "steps": 200,
}


def setup():
    gc.disable()


def attempt():
    batch = torch.zeros(20_000)
    try:
        batch.view(7, 3)
    except RuntimeError as error:
        first = error
    return str(first)


def step(i):
    attempt()
    if i % 40 == 39:
        gc.collect()
