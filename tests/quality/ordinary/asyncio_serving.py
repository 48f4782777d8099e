"""A small server: requests wait in an asyncio queue and are answered in batches, one loop for all steps."""

import asyncio

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)).eval()
loop = asyncio.new_event_loop()


async def answer(requests):
    while True:
        waiting = [await requests.get()]
        while not requests.empty():
            waiting.append(requests.get_nowait())
        with torch.inference_mode():
            out = model(torch.stack([x for x, _ in waiting]))
        for row, (_, future) in zip(out, waiting, strict=True):
            future.set_result(row.argmax().item())


async def serve_some():
    requests = asyncio.Queue(maxsize=32)
    server = asyncio.create_task(answer(requests))
    futures = []
    for _ in range(16):
        future = loop.create_future()
        await requests.put((torch.randn(64), future))
        futures.append(future)
    await asyncio.gather(*futures)
    server.cancel()
    await asyncio.gather(server, return_exceptions=True)


def step(i):
    loop.run_until_complete(serve_some())


def teardown():
    loop.close()
