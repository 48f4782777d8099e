"""A helper process a step that is started and never ended.

Fix: one helper, or ``wait`` with a timeout.
"""

import subprocess

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["child_process_growth", "held_reference"],
    "line_contains": 'helpers.append(subprocess.Popen(["sleep", "600"]))',
    "holder": "module global 'helpers' (list of running processes)",
    "bytes_per_step": 811,
    "channel": "process",
    "no_bytes_check": True,
    "steps": 50,
}

helpers = []
x = torch.randn(100)


def step(i):
    helpers.append(subprocess.Popen(["sleep", "600"]))
    x.sum()


def fixed_step(i):
    helper = subprocess.Popen(["sleep", "600"])
    x.sum()
    helper.kill()
    helper.wait()


def teardown():
    for one in helpers:
        one.kill()
    for one in helpers:
        one.wait()
