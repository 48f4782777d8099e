"""A1: a scope is opened for each request and never closed.

Symptom: memory grows by one request's tensors with every request, although no code of yours keeps them.

Why: a scope owns what is allocated inside it until it is closed, and its parent keeps a list of the scopes that are
    still open, so that closing the parent closes them too. Nobody closes the child, so that list is what keeps it.

How it shows: leak. The storages made in ``answer`` survive every step, and the parent's list of open scopes gains one
    element a step.

Fix: open the scope in a ``with`` block. It is then closed on every way out, an exception among them.
"""

from __future__ import annotations

from types import TracebackType

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A scope opened for each request is never closed",
    pitfall="An open scope owns what was allocated inside it, and its parent keeps every scope that is still open.",
    fix="Open the scope in a with block, so that it is closed on every way out.",
    tags=("memory", "scope"),
    # Scope below is a class of this file, which the tool does not know: what it can see is the list that holds on.
    expect=leak("held_reference"),
)


class Scope:
    """Owns tensors until it is closed. Its parent knows it for as long as it is open."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.owned: list[torch.Tensor] = []
        self.open_scopes: list[Scope] = []
        self.parent = parent
        if parent is not None:
            parent.open_scopes.append(self)

    def own(self, tensor: torch.Tensor) -> torch.Tensor:
        self.owned.append(tensor)
        return tensor

    def close(self) -> None:
        self.owned.clear()
        if self.parent is not None:
            self.parent.open_scopes.remove(self)

    def __enter__(self) -> Scope:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


ROOT = Scope()
WEIGHT = ROOT.own(torch.randn(64, 64))


def answer(scope: Scope) -> torch.Tensor:
    request = scope.own(torch.randn(32, 64))
    return scope.own(request @ WEIGHT)


def step(i: int) -> None:
    answer(Scope(ROOT))


def fixed_step(i: int) -> None:
    with Scope(ROOT) as scope:
        answer(scope)
