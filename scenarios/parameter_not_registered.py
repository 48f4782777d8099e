"""B3: layers are kept in a plain list, and the model does not know them.

Symptom: the loss falls a little and stays there. ``model.parameters()`` is shorter than it should be.

Why: a module registers what is assigned to it as an attribute: parameters and modules. It does not look into a list.
    Backward still gives those layers gradients, but no optimizer gets them, nobody sets them to zero, and
    ``state_dict`` does not save them.

How it shows: fault null_gradient, reason ``not_registered``, with the parameters' names as the list has them.

Fix: ``torch.nn.ModuleList`` for modules, ``torch.nn.ParameterList`` or ``register_parameter`` for parameters.
"""

from __future__ import annotations

import torch

from harness import Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Layers are kept in a plain list, and the model does not know them",
    pitfall="A module registers its attributes, and does not look into a list.",
    fix="Use torch.nn.ModuleList: it registers what it holds.",
    tags=("gradients", "null_gradient"),
    expect=fault("null_gradient"),
)

BATCH, TARGET = torch.randn(16, 8), torch.randn(16, 1)


class Net(torch.nn.Module):
    def __init__(self, *, registered: bool) -> None:
        super().__init__()
        layers = [torch.nn.Linear(8, 8) for _ in range(2)]
        self.layers = torch.nn.ModuleList(layers) if registered else layers
        self.head = torch.nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x).tanh()
        result: torch.Tensor = self.head(x)
        return result


LIST, MODULE_LIST = Net(registered=False), Net(registered=True)
LIST_OPTIMIZER = torch.optim.SGD(LIST.parameters(), lr=0.01)
MODULE_LIST_OPTIMIZER = torch.optim.SGD(MODULE_LIST.parameters(), lr=0.01)


def train(model: Net, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    (model(BATCH) - TARGET).square().mean().backward()
    optimizer.step()


def step(i: int) -> None:
    train(LIST, LIST_OPTIMIZER)


def fixed_step(i: int) -> None:
    train(MODULE_LIST, MODULE_LIST_OPTIMIZER)
