"""Background tasks that wait for an event that never comes.

What happens: each task's coroutine is suspended at its await, with the batch among its locals; the set is there to keep
the tasks from being collected, and nobody takes them out.
Fix: a timeout, and ``task.add_done_callback(pending.discard)``.
"""

import asyncio

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["suspended_frame", "held_reference"],
    "line_contains": "pending.add(asyncio.ensure_future(upload(never)))",
    "also_ok": ["batch = torch.randn(100, 120)", "await event.wait()"],
    "holder": "module global 'pending' (set of tasks; coroutine local 'batch')",
    "bytes_per_step": 48500,
    "channel": "tensor",
}

loop = asyncio.new_event_loop()
pending = set()


def setup():
    global never
    never = asyncio.Event()


async def upload(event):
    batch = torch.randn(100, 120)
    await event.wait()
    return batch.mean()


async def serve():
    pending.add(asyncio.ensure_future(upload(never)))
    await asyncio.sleep(0)


async def serve_in_time():
    event = asyncio.Event()
    task = asyncio.ensure_future(upload(event))
    await asyncio.sleep(0)
    event.set()
    await task


def step(i):
    loop.run_until_complete(serve())


def fixed_step(i):
    loop.run_until_complete(serve_in_time())


def teardown():
    for task in pending:
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
