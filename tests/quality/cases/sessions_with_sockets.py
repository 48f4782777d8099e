"""A session for each request, with a socket pair and a window of the last features; none of them is ended.

Fix: close the sockets, and drop the session.
"""

import socket

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["fd_growth", "held_reference"],
    "line_contains": "self.here, self.there = socket.socketpair()",
    "also_ok": ["sessions[number] = Session()", "self.window = torch.zeros(1000)"],
    "holder": "module global 'sessions' (dict of sessions)",
    "bytes_per_step": 4810,
    "channel": "fd",
    "no_bytes_check": True,
}

sessions = {}


class Session:
    def __init__(self):
        self.here, self.there = socket.socketpair()
        self.window = torch.zeros(1000)

    def end(self):
        self.here.close()
        self.there.close()


def step(number):
    sessions[number] = Session()


def fixed_step(number):
    Session().end()


def teardown():
    for session in sessions.values():
        session.end()
