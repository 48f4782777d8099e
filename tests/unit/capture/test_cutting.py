"""What was added is taken away again, and nothing else."""

from __future__ import annotations

import collections
import sys
import types
from typing import Any

import pytest
import torch

from harness.capture.cutting import Cutter
from harness.model.holding import Cut, CutOrder


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = types.ModuleType("train")
    monkeypatch.setitem(sys.modules, "train", module)
    return module


def a_cutter(*names: str | int, is_binding: bool = False) -> Cutter:
    """``a_cutter("writer", "tags")`` follows attributes; a key or an index is a number."""
    way = tuple(Cut(kind="attribute" if isinstance(name, str) else "key", name=name) for name in names)
    return Cutter(CutOrder(module="train", way=way, is_binding=is_binding, fingerprint="f"))


@pytest.mark.parametrize(
    ("container", "add"),
    [
        ([1, 2], lambda c, x: c.append(x)),
        (bytearray(b"ab"), lambda c, x: c.append(x)),
        (collections.deque([1, 2]), lambda c, x: c.append(x)),
        ({1: 1, 2: 2}, lambda c, x: c.__setitem__(x, x)),
        (collections.OrderedDict({1: 1, 2: 2}), lambda c, x: c.__setitem__(x, x)),
        ({1, 2}, lambda c, x: c.add(x)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_container_is_cut_back_to_what_it_had_after_the_warm_up(train: Any, container: Any, add: Any) -> None:
    train.kept = container
    before = container.copy()
    cutter = a_cutter("kept")
    cutter.note()

    for step in range(3):
        add(container, 10 + step)
        cutter.cut()

    assert container == before
    assert cutter.cuts == 3


def test_a_class_attribute_and_a_child_module_are_found(train: Any) -> None:
    class Rollout:
        buffers: list[int]

    Rollout.buffers = [1]
    train.Rollout = Rollout
    train.model = torch.nn.ModuleDict({"adapters": torch.nn.ModuleDict()})
    first, second = a_cutter("Rollout.buffers"), a_cutter("model", "adapters", "_modules")
    first.note()
    second.note()

    Rollout.buffers.append(2)
    train.model["adapters"]["a"] = torch.nn.Linear(1, 1)
    first.cut()
    second.cut()

    assert Rollout.buffers == [1]
    assert len(train.model["adapters"]) == 0


def test_a_name_that_is_bound_to_a_graph_gets_the_tensor_without_it(train: Any) -> None:
    train.total = torch.ones(3, requires_grad=True) * 2

    a_cutter("total", is_binding=True).cut()

    assert train.total.grad_fn is None
    assert train.total.tolist() == [2, 2, 2]


def test_what_is_not_there_is_no_error_and_no_cut(train: Any) -> None:
    cutter = a_cutter("later", "tags")

    cutter.note()
    cutter.cut()

    assert cutter.cuts == 0
