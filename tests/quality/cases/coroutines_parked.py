"""Hand-driven coroutines that are started and parked.

What happens: a coroutine that was sent into once keeps its frame, and the frame its half-made sample.
Fix: ``close()``.
"""

import types

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["suspended_frame", "held_reference"],
    "line_contains": "parked[i] = decoder",
    "also_ok": ["half = torch.rand(3, 40, 40)"],
    "holder": "module global 'parked' (dict of coroutines; frame local 'half')",
    "bytes_per_step": 19600,
    "channel": "tensor",
}

parked = {}


@types.coroutine
def pause():
    yield


async def decode():
    half = torch.rand(3, 40, 40)
    await pause()
    return half.flip(2)


def step(i):
    decoder = decode()
    decoder.send(None)
    parked[i] = decoder


def fixed_step(i):
    coroutine = decode()
    coroutine.send(None)
    coroutine.close()


def teardown():
    for decoder in parked.values():
        decoder.close()
