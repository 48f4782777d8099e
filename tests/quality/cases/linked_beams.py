"""Each state of a search points to the one before it.

What happens: only the newest node is held by name; all others hang on its ``before``, ever deeper.
Fix: cut the chain where nobody walks back any more.
"""

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": "held_reference",
    "line_contains": "newest = Node(torch.randn(30, 200), newest)",
    "holder": "module global 'newest' (chain of 'before')",
    "bytes_per_step": 24400,
    "channel": "tensor",
}


class Node:
    def __init__(self, scores, before):
        self.scores = scores
        self.before = before


newest = None
current = None


def step(i):
    global newest
    newest = Node(torch.randn(30, 200), newest)
    newest.scores.logsumexp(1)


def fixed_step(i):
    global current
    current = Node(torch.randn(30, 200), None)
    current.scores.logsumexp(1)


def teardown():
    global newest
    while newest is not None:  # one by one: the interpreter frees a long chain by recursion
        newest = newest.before
