"""Cuts one edge after every step: the experiment that shows whether growth enters there."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from typing import Any

from harness.model.holding import Cut, CutOrder

__all__ = ["Cutter"]


class Cutter:
    """Takes from one container what was added since :meth:`note`, or from one name the graph behind its tensor.

    This runs in a subject of its own, and looks the container up anew each time, as the program itself would."""

    def __init__(self, order: CutOrder) -> None:
        self._order = order
        self._size: int | None = None
        self._elements: set[int] = set()
        self.cuts = 0

    def note(self) -> None:
        """Remember what the container has now, after the warm-up: that much is left to it."""
        container = self._found(self._order.way)
        if container is not None and not self._order.is_binding:
            self._size = len(container)
            self._elements = {id(one) for one in container} if isinstance(container, (set, frozenset)) else set()

    def cut(self) -> None:
        """Cut once. What is not there (yet) is no error; the program's own errors come through."""
        if self._order.is_binding:
            self._detach()
        else:
            self._trim(self._found(self._order.way))

    def _found(self, way: tuple[Cut, ...]) -> Any:
        thing: Any = sys.modules.get(self._order.module)
        for step in way:
            if thing is None:
                return None
            thing = _follow(thing, step)
        return thing

    def _trim(self, container: Any) -> None:
        if container is None or self._size is None or len(container) <= self._size:
            return
        self.cuts += 1
        if isinstance(container, (list, bytearray)):
            del container[self._size :]
        elif isinstance(container, deque):
            while len(container) > self._size:
                container.pop()
        elif isinstance(container, (dict, OrderedDict)):
            for key in list(container)[self._size :]:
                del container[key]
        elif isinstance(container, set):
            for one in [one for one in container if id(one) not in self._elements]:
                container.discard(one)
        else:
            self.cuts -= 1

    def _detach(self) -> None:
        """Put the tensor without its graph where the tensor was."""
        import torch

        holder, last = self._found(self._order.way[:-1]), self._order.way[-1]
        value = _follow(holder, last) if holder is not None else None
        if not isinstance(value, torch.Tensor) or value.grad_fn is None:
            return
        self.cuts += 1
        bare = value.detach().requires_grad_(value.is_leaf and value.requires_grad)
        if last.kind == "attribute":
            setattr(holder, str(last.name), bare)
        else:
            holder[last.name] = bare


def _follow(thing: Any, step: Cut) -> Any:
    if step.kind == "attribute":
        for name in str(step.name).split("."):
            thing = getattr(thing, name, None)
        return thing
    try:
        return thing[step.name]
    except (KeyError, IndexError):
        return None
