"""A program for the walk to look at: a module in which a test lies what is to be found."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from harness.model.holding import HeldRecord, HolderPath
from harness.retainers import roots
from harness.retainers.look import Look
from harness.retainers.survivors import Wanted

if TYPE_CHECKING:
    import pytest

__all__ = ["NUMBER", "Program", "key_of"]

NUMBER = torch.ones(1)


def key_of(tensor: Any) -> int:
    address: int = torch._C._data_address(tensor)  # type: ignore[attr-defined]
    return address


def _few(modules: Any) -> Any:
    """The program and a handful of libraries: a walk through all that pytest has loaded takes a second in Python."""

    def few(is_users: Any) -> Any:
        users, library, skipped = modules(is_users)
        wanted = ("sys", "builtins", "module weakref", "module threading", "module functools")
        kept = [root for root in library if root.text in wanted]
        return users, kept, [*skipped, *(root.thing for root in library if not any(root is one for one in kept))]

    return few


class Program:
    """A module of the program's own, in which the tests lie what is to be found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import sys

        self.module = types.ModuleType("train")
        self.module.__file__ = "/home/me/train.py"
        monkeypatch.setitem(sys.modules, "train", self.module)
        monkeypatch.setattr(roots, "_modules", _few(roots._modules))
        self._look = Look(is_users=lambda path: path == "/home/me/train.py", key_of=key_of)

    def measure(self) -> None:
        self._look.measure(0)

    def look(self, *tensors: torch.Tensor | int, step: int = 8) -> HeldRecord:
        keys = [one if isinstance(one, int) else key_of(one) for one in tensors]
        return self._look.look(
            [Wanted(site=k, key=key, bytes=4) for k, key in enumerate(keys)], step=step, run_steps=None
        )

    def path(self, tensor: torch.Tensor | int) -> HolderPath:
        key = tensor if isinstance(tensor, int) else key_of(tensor)
        del tensor
        ways = self.look(key).sites[0]
        assert ways, "nothing leads to it"
        return ways[0]

    def run(self, source: str) -> None:
        exec(compile(source, "/home/me/train.py", "exec"), vars(self.module))
