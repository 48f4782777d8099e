"""Closes tensors for as many rounds as it is told, in every situation that could crash; prints what went wrong."""

from __future__ import annotations

import random
import sys
import threading
from typing import Any

import torch

from harness.errors import UseAfterCloseError
from harness.scope import ResourceScope

GRADIENT = torch.tensor([1.0, 2.0, 3.0, 4.0])


class Shared:
    """A tensor that other threads work on while it is closed."""

    def __init__(self) -> None:
        self.tensor = torch.ones(64, 64)
        self.stop = False
        self.wrong: list[str] = []
        self.used = 0

    def work(self, seed: int) -> None:
        chosen = random.Random(seed)
        while not self.stop:
            tensor = self.tensor
            try:
                total = chosen.choice(OPERATORS)(tensor)
                if total != 4096.0:
                    self.wrong.append(f"a sum was {total}")
                self.used += 1
            except UseAfterCloseError:
                pass
            except BaseException as error:
                self.wrong.append(f"{type(error).__name__}: {str(error)[:200]}")


OPERATORS: list[Any] = [
    lambda t: t.sum().item(),
    lambda t: (t * 1.0).sum().item(),
    lambda t: (t @ torch.eye(64)).sum().item(),
    lambda t: t.clone().sum().item(),
    lambda t: t.reshape(-1)[:].sum().item(),
    lambda t: torch.cat([t, t]).sum().item() / 2,
    lambda t: torch.stack([t]).sum().item(),
    lambda t: float(t.numpy().sum()),
]


def view(scope: ResourceScope) -> None:
    tensor = torch.arange(8.0)
    part = tensor[2:4]
    scope.close_tensor(tensor)
    assert part.tolist() == [2.0, 3.0]


def array(scope: ResourceScope) -> None:
    tensor = torch.arange(8.0)
    numbers = tensor.numpy()
    scope.close_tensor(tensor)
    assert numbers.sum() == 28.0


def alias(scope: ResourceScope) -> None:
    one = torch.arange(8.0)
    other = one.detach()
    scope.close_tensor(one)
    scope.close_tensor(other)


def graph(scope: ResourceScope) -> None:
    weight, data = torch.ones(4, requires_grad=True), GRADIENT.clone()
    loss = (weight * data).sum()
    scope.close_tensor(data)
    loss.backward()
    assert weight.grad is not None
    assert torch.equal(weight.grad, GRADIENT)


def intermediate(scope: ResourceScope) -> None:
    weight = torch.zeros(4, requires_grad=True)
    hidden = weight.exp()
    loss = (hidden * GRADIENT).sum()
    scope.close_tensor(hidden)
    loss.backward()
    assert weight.grad is not None
    assert torch.equal(weight.grad, GRADIENT)


def parameter(scope: ResourceScope) -> None:
    layer = torch.nn.Linear(4, 1, bias=False)
    data = GRADIENT.clone().requires_grad_()
    kept = layer.weight.detach().clone()
    loss = layer(data).sum()
    scope.close_tensor(layer.weight)
    loss.backward()
    assert data.grad is not None
    assert torch.equal(data.grad, kept[0])


def whole_scope(scope: ResourceScope) -> None:
    kept = []
    with scope.child("round", on_escape="close"):
        kept.append(torch.ones(4))
        kept.append(kept[0][:2])
    for tensor in kept:
        try:
            tensor.sum()
        except UseAfterCloseError:
            continue
        raise AssertionError("a tensor of a closed scope was used")


SITUATIONS = (view, array, alias, graph, intermediate, parameter)


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    shared, chosen = Shared(), random.Random(0)
    threads = [threading.Thread(target=shared.work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    with ResourceScope("fuzz") as scope:
        for i in range(rounds):
            chosen.choice(SITUATIONS)(scope)
            if i % 100 == 0:
                whole_scope(scope)
            closing, shared.tensor = shared.tensor, torch.ones(64, 64)
            scope.close_tensor(closing)
            del closing
        shared.stop = True
        for thread in threads:
            thread.join()
    for words in dict.fromkeys(shared.wrong):
        print(words)
    print(f"{rounds} rounds, {shared.used} uses by other threads, {len(shared.wrong)} wrong")


if __name__ == "__main__":
    main(int(sys.argv[1]))
