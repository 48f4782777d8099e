"""Small recordings are kept on purpose; a cached property makes each of them large.

What happens: the list of recordings of 64 numbers is bounded in nobody's mind, and the first look at ``spectrum``
stores 6,000 numbers in the recording's own dictionary.
Fix: a plain method.
"""

import functools

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "return self.window.outer(self.window).flatten()[:6000].clone()",
    "also_ok": ["recordings.append(recording)", "@functools.cached_property"],
    "holder": "module global 'recordings' (list; attribute 'spectrum')",
    "bytes_per_step": 25000,
    "channel": "tensor",
}


class Recording:
    def __init__(self):
        self.window = torch.hann_window(80)

    @functools.cached_property
    def spectrum(self):
        return self.window.outer(self.window).flatten()[:6000].clone()


recordings = []


def step(i):
    recording = Recording()
    recording.spectrum.mean()
    recordings.append(recording)


def fixed_step(i):
    r = Recording()
    r.spectrum.mean()
