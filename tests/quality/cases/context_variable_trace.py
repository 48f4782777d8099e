"""A trace of activations kept in a context variable.

What happens: the variable is set once, in the main thread's context, and its list lives as long as the thread. Contexts
are C objects; the list is reached through one only.
Fix: reset the variable when the request is answered.
"""

import contextvars

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "trace.get().append(hidden)",
    "also_ok": ["hidden = torch.relu(layer(torch.randn(64, 64)))"],
    "holder": "list in a context variable (of the main thread's context)",
    "bytes_per_step": 41300,
    "channel": "tensor",
}

trace = contextvars.ContextVar("trace")
layer = torch.nn.Linear(64, 160)


def setup():
    trace.set([])


def step(i):
    with torch.inference_mode():
        hidden = torch.relu(layer(torch.randn(64, 64)))
    trace.get().append(hidden)


def fixed_step(i):
    token = trace.set([])
    with torch.inference_mode():
        trace.get().append(torch.relu(layer(torch.randn(64, 64))))
    trace.reset(token)
