"""A watcher thread a step, and the event that ends it is never set.

What happens: every thread waits for its own event; the tensor that it is to write later is an argument of its function.
Fix: set the event and join.
"""

import threading

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["thread_growth", "suspended_frame"],
    "line_contains": "threading.Thread(target=watch, args=(threading.Event(), torch.ones(5000)), daemon=True).start()",
    "also_ok": ["done.wait()"],
    "holder": "frames of waiting threads ('watch')",
    "bytes_per_step": 26300,
    "channel": "thread",
    "no_bytes_check": True,
    "steps": 80,
}


def watch(done, tensor):
    done.wait()
    tensor.zero_()


def step(i):
    threading.Thread(target=watch, args=(threading.Event(), torch.ones(5000)), daemon=True).start()


def fixed_step(i):
    event = threading.Event()
    thread = threading.Thread(target=watch, args=(event, torch.full((5000,), 1.0)), daemon=True)
    thread.start()
    event.set()
    thread.join()
