"""C2, third form: what tutorials on training in TorchScript get wrong.

Symptom: a method is missing after loading; ``zero_grad`` fails before the first step; training does nothing; an
    exception says that there is no graph; a branch is never taken.

Why: a method without ``@torch.jit.export`` is not saved. An undefined gradient passes ``is not None`` in TorchScript,
    and fails in ``zero_()``. An optimizer cannot be scripted. A run method that turns gradients off cannot train, and a
    forward pass before gradients are on has no graph. Tracing freezes the branch that it saw. (A test shows each.)

How it shows: fault null_gradient at the backward of what ran under no_grad.

Fix: export the method; backward first, then step, then zero; turn gradients on round forward and backward; script what
    branches. TorchScript is deprecated, and not supported on Python 3.14 and newer: there only ``step`` is shown.
"""

from __future__ import annotations

import sys
import warnings

import torch

from harness import Scenario, fault

torch.set_num_threads(1)
warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)

SCENARIO = Scenario(
    title="A binding's run method turns gradients off, and training cannot work",
    pitfall="What ran under no_grad has no graph, and backward has nowhere to go.",
    fix="Turn gradients on round the forward pass and the backward pass both.",
    tags=("gradients",),
    expect=fault("null_gradient"),
)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight).sum()

    def not_exported(self, x: torch.Tensor) -> torch.Tensor:
        return x

    @torch.jit.export
    def zero(self) -> bool:
        gradient = self.weight.grad
        if gradient is not None:
            gradient.zero_()
        return gradient is not None


def branching(x: torch.Tensor) -> torch.Tensor:
    return x if bool(x.sum() > 0) else -x


def run_method(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """As some bindings have it: for inference."""
    with torch.no_grad():
        result: torch.Tensor = model(x)
        return result


MODEL = Model() if sys.version_info >= (3, 14) else torch.jit.script(Model())
X = torch.ones(2)


def step(i: int) -> None:
    run_method(MODEL, X).backward()


def fixed_step(i: int) -> None:
    with torch.enable_grad():
        MODEL(X).backward()
    MODEL.zero()
