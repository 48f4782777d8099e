"""What one step did, as a graph: values (tensors as they were once) and the calls that made them of one another."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

__all__ = ["Call", "Place", "State", "Value", "above", "below"]

State = Literal["finite", "infinite", "nan"]


_TITLES = {
    "__getitem__": "indexing",
    "__setitem__": "assigning to an index",
    "__rsub__": "sub",
    "__pow__": "pow",
    "__rpow__": "pow",
    "__rdiv__": "div",
    "data.__get__": ".data",
}


class Place(msgspec.Struct, frozen=True):
    """A line of the user's own code."""

    path: str
    line: int
    function: str

    @property
    def source(self) -> str | None:
        return linecache.getline(self.path, self.line).strip() or None

    def __str__(self) -> str:
        return f"line {self.line}"


class Value(msgspec.Struct, eq=False, kw_only=True):
    """A tensor as it was between two changes. ``memory`` is the same number for views of one storage; ``state`` and
    ``zero`` are those of its numbers, ``gradient`` and ``gradient_zero`` those of what backward brought to it; each is
    None where it is not known."""

    weak: Any
    shape: tuple[int, ...]
    dtype: str
    device: str
    is_float: bool
    is_parameter: bool
    is_leaf: bool
    requires_grad: bool
    memory: int | None
    label: str | None
    made_by: Call | None = None
    used_by: list[Call] = []
    state: State | None = None
    zero: bool | None = None
    positive: bool | None = None
    gradient: State | None = None
    gradient_zero: bool | None = None

    @property
    def name(self) -> str:
        """What the user calls it, else what made it."""
        if self.label is not None:
            return self.label
        return f"the result of {self.made_by.title}" if self.made_by is not None else "a tensor"

    @property
    def starts_backward(self) -> bool:
        """Backward begins with it: its gradient is 1, whether or not a hook told so."""
        return any(call.name == "backward" for call in self.used_by)

    @property
    def before_changes(self) -> Value:
        """The same tensor as the step found it, before it was changed in place."""
        value = self
        while value.made_by is not None and value.made_by.in_place and value.made_by.inputs:
            value = value.made_by.inputs[0]
        return value

    @property
    def told(self) -> str:
        """``batch: float32 [16, 32] on cpu``."""
        return f"{self.name}: {self.dtype} {list(self.shape)} on {self.device}"


class Call(msgspec.Struct, eq=False, kw_only=True):
    """One call of a function of torch. ``order`` counts within the step; ``infinities`` where the caller itself put an
    infinite number into it."""

    name: str
    place: Place | None
    thread: str
    in_main: bool
    order: int
    grad_enabled: bool
    inference: bool
    in_place: bool
    infinities: bool
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...] = ()

    @property
    def title(self) -> str:
        """What people call it."""
        return _TITLES.get(self.name, self.name)

    @property
    def at(self) -> str:
        """``mul at line 12``, with the thread where it was another one."""
        where = f" at {self.place}" if self.place is not None else ""
        return f"{self.title}{where}" + ("" if self.in_main else f" in thread {self.thread}")


def above(value: Value) -> Iterator[Value]:
    """*value* and everything that it was made of, each once, the nearest first."""
    seen, waiting = {id(value)}, [value]
    for found in waiting:
        yield found
        for source in found.made_by.inputs if found.made_by is not None else ():
            if id(source) not in seen:
                seen.add(id(source))
                waiting.append(source)


def below(value: Value) -> Iterator[Call]:
    """The calls that *value* came into, directly or through their results, in the order in which they ran."""
    seen: dict[int, Call] = {}
    waiting = [value]
    for found in waiting:
        for call in found.used_by:
            if id(call) not in seen:
                seen[id(call)] = call
                waiting.extend(call.outputs)
    yield from sorted(seen.values(), key=lambda call: call.order)
