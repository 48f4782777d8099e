"""C2, second form: a whole training step in TorchScript, to be saved and trained by another program.

Symptom: the loaded module has no method to train it; or it trains, and nobody knows whether as it did in Python.

Why: TorchScript saves ``forward`` and what is marked ``@torch.jit.export``, and can script no optimizer.

How it shows: stable: Python and the loaded module have the same losses, step by step, and ``comparison`` their speed.

Fix: nothing to fix. TorchScript is deprecated, and not supported on Python 3.14: there both train in Python.
"""

from __future__ import annotations

import io
import sys
import warnings

import torch

from harness import Scenario, stable

torch.set_num_threads(1)
warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)

SCENARIO = Scenario(
    title="A whole training step in TorchScript, saved and loaded",
    pitfall="Only forward and exported methods are compiled and saved, and an optimizer cannot be scripted.",
    fix="Export loss and backward, the gradients, the step and zeroing as methods of the module.",
    tags=("gradients", "throughput"),
    expect=stable(),
)


class Line(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))

    @torch.jit.export
    def loss_and_backward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = (x * self.weight + self.bias - y).square().mean()
        loss.backward()
        return loss.detach()

    @torch.jit.export
    def gradients(self) -> list[torch.Tensor]:
        weight, bias = self.weight.grad, self.bias.grad
        return [] if weight is None or bias is None else [weight, bias]

    @torch.jit.export
    def sgd_step(self, rate: float) -> None:
        self.weight.detach().sub_(self.gradients()[0], alpha=rate)
        self.bias.detach().sub_(self.gradients()[1], alpha=rate)

    @torch.jit.export
    def zero(self) -> None:
        for gradient in self.gradients():
            gradient.zero_()


def train(module: Line) -> float:
    loss = module.loss_and_backward(X, Y)
    module.sgd_step(0.01)
    module.zero()
    return float(loss)


X = torch.linspace(0, 10, 100)
Y = 2 * X + 1 + 0.5 * torch.randn(100, generator=torch.Generator().manual_seed(42))
EAGER = Line()
LOADED = torch.jit.load(io.BytesIO(torch.jit.script(Line()).save_to_buffer())) if sys.version_info < (3, 14) else Line()


def step(i: int) -> None:
    train(EAGER)


def fixed_step(i: int) -> None:
    train(LOADED)
