"""A symbolic trace of the model for every request, kept for later comparison.

What happens: a GraphModule is a module with a graph of some hundred Python objects and generated source; it shares the
weights, so that no tensor is added. Another 800 bytes a step stay in torch's own table of
generated sources, whatever is kept.
Fix: trace once.
"""

import torch
import torch.fx

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["held_reference", "compile_cache_growth", "python_objects"],
    "line_contains": "variants.append(torch.fx.symbolic_trace(model))",
    "holder": "module global 'variants' (list of graph modules)",
    "bytes_per_step": 17400,
    "channel": "python",
    "steps": 100,
}

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
variants = []
only = None


def step(i):
    variants.append(torch.fx.symbolic_trace(model))


def fixed_step(i):
    global only
    if only is None:
        only = torch.fx.symbolic_trace(model)
    only(torch.randn(1, 8))
