"""The latest 80 results, by request, oldest first out.   NEGATIVE

What happens: straight growth for 80 steps, then none.
"""

import collections

import torch

torch.set_num_threads(1)

EXPECT = {
    "leak": False,
    "cause": "none",
    "look_alike": ["bounded_cache", "warm_up"],
    "holder": "module global 'results' (OrderedDict of 80)",
    "bytes_per_step": 0,
    "channel": "none",
}

results = collections.OrderedDict()
net = torch.nn.Linear(32, 512)


def step(i):
    with torch.no_grad():
        results[i] = net(torch.randn(4, 32))
    if len(results) > 80:
        results.popitem(last=False)
