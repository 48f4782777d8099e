"""A global module hook installed by every call of a debugging aid.

What happens: ``register_module_forward_hook`` writes into a table of torch itself; each hook closes over its own
reference activations, and every forward runs all of them.
Fix: remove the handle.
"""

import torch
from torch.nn.modules.module import register_module_forward_hook

torch.set_num_threads(1)

EXPECT = {
    "leak": True,
    "cause": ["hook_accumulation", "held_reference"],
    "line_contains": "register_module_forward_hook(compare)",
    "also_ok": ["reference = torch.randn(48, 96)"],
    "holder": "torch.nn.modules.module's table '_global_forward_hooks' (closure cell 'reference')",
    "bytes_per_step": 18900,
    "channel": "tensor",
}

layer = torch.nn.Linear(24, 96)


def install():
    reference = torch.randn(48, 96)

    def compare(module, args, out):
        return None if out.shape != reference.shape else out

    return compare


def step(i):
    compare = install()
    register_module_forward_hook(compare)
    with torch.no_grad():
        layer(torch.randn(4, 24))


def fixed_step(i):
    own = install()
    handle = register_module_forward_hook(own)
    with torch.no_grad():
        layer(torch.randn(4, 24))
    handle.remove()
