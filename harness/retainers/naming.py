"""Names for single edges: one function a kind of holder, each past what the program's own code would say.

Each namer looks at a chain of objects from one place on, and answers with the edge there and how many objects it uses
up; None where the holder is of another kind.
"""

from __future__ import annotations

import collections
import functools
import types
import weakref
from collections.abc import Sequence
from typing import Any

from harness.model.holding import Cut, Trait
from harness.retainers.roots import locals_of
from harness.retainers.safely import (
    attributes,
    dict_items,
    instance_dict,
    is_a,
    is_class,
    is_exactly,
    named,
    own,
    printable,
    shown_key,
)
from harness.retainers.traits import CACHE, trait_of

_key_of: Any
try:
    from harness.retainers._heapwalk import key_of as _key_of
except ImportError:
    _key_of = None

__all__ = ["NAMERS", "PLAIN_CONTAINERS", "Edge", "global_edge"]

PLAIN_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
_TABLES = ("_parameters", "_buffers", "_modules")


class Edge:
    """What one or several objects of a chain become: *used* of them after the present one."""

    def __init__(
        self, name: str, *, used: int = 1, item: bool = False, cut: Cut | None = None, trait: Trait = ""
    ) -> None:
        self.name, self.used, self.item, self.cut, self.trait = name, used, item, cut, trait


def global_edge(namespace: dict[Any, Any], child: Any) -> Edge:
    key, _ = _place_in(namespace, child)
    name = printable(key) if type(key) is str else shown_key(key)
    if (
        "get_ipython" in namespace
        and type(key) is str
        and (key in ("_", "__", "___", "Out", "_oh") or _is_history(key))
    ):
        return Edge(f"IPython {name}")
    return Edge(name, cut=_named_cut(key), trait="hooks" if name.endswith("hooks") else "")


def _is_history(name: str) -> bool:
    return name.startswith("_") and name[1:].lstrip("i").isdigit()


def _place_in(mapping: dict[Any, Any], value: Any) -> tuple[Any, bool]:
    """The key under which *value* is, and whether it is the key itself."""
    if _key_of is not None:
        found = _key_of(mapping, value)
        return found if found is not None else ("?", False)
    for key, one in dict_items(mapping):
        if one is value or key is value:
            return key, one is not value
    return "?", False


def _in_dict(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    parent, child = chain[at], chain[at + 1]
    if not is_a(parent, dict):
        return None
    attribute = _attribute_edge(parent, child, 1)
    found = _key_of(parent, child) if _key_of is not None else _place_in(parent, child)
    if found is None or (found[0] == "?" and attribute is not None):
        return attribute
    key, is_key = found
    if is_key:
        return Edge("[key *]" if id(parent) in open_keys else f"[key {shown_key(key)}]", item=True)
    if id(parent) in open_keys:
        return Edge("[*]", item=True)
    cut = Cut(kind="key", name=key) if is_exactly(key, str, int) else None
    return Edge(f"[{_shown(key)}]", item=True, cut=cut)


def _shown(key: Any) -> str:
    if trait_of(key) == "tensor":
        shape = "x".join(str(n) for n in type(key).shape.__get__(key))
        return f"{named(type(key))} {shape}"
    return shown_key(key)


def _in_sequence(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    parent, child = chain[at], chain[at + 1]
    if is_a(parent, list, collections.deque, set, frozenset):
        attribute = _attribute_edge(parent, child, 1) if not is_exactly(parent, *PLAIN_CONTAINERS) else None
        return attribute or Edge("[*]", item=True)
    if not is_a(parent, tuple):
        return None
    place = next((k for k, one in enumerate(tuple.__iter__(parent)) if one is child), None)
    fields = own(type(parent)).get("_fields")
    if place is not None and type(fields) is tuple and place < len(fields) and type(fields[place]) is str:
        return Edge(f".{printable(fields[place])}", cut=Cut(kind="index", name=place))
    return Edge(
        "[*]" if place is None else f"[{place}]",
        item=True,
        cut=None if place is None else Cut(kind="index", name=place),
    )


def _of_function(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    parent, child = chain[at], chain[at + 1]
    if type(parent) is not types.FunctionType:
        return None
    name = printable(parent.__qualname__)
    if child is parent.__closure__:
        cell = chain[at + 2] if at + 2 < len(chain) else None
        place = next((k for k, one in enumerate(parent.__closure__ or ()) if one is cell), None)
        if place is None:
            return Edge(f"closure of {name}")
        used = 3 if at + 3 < len(chain) else 2
        return Edge(f"closure cell {printable(parent.__code__.co_freevars[place])} of {name}", used=used)
    if child is parent.__defaults__ or child is parent.__kwdefaults__:
        return Edge(f"default argument of {name}", used=2 if at + 2 < len(chain) else 1)
    if child is parent.__dict__ and at + 2 < len(chain):
        key, _ = _place_in(parent.__dict__, chain[at + 2])
        return Edge(f"{name}.{printable(key) if type(key) is str else shown_key(key)}", used=2)
    return Edge(f"globals of {name}" if child is parent.__globals__ else f"part of function {name}")


def _of_method(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    parent, child = chain[at], chain[at + 1]
    if type(parent) is types.MethodType:
        return Edge("__self__" if child is parent.__self__ else "__func__")
    if type(parent) is functools.partial:
        return Edge("func" if child is parent.func else "an argument", used=1)
    return None


def _of_code_that_runs(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    """Tracebacks, frames, generators, coroutines: their locals by name."""
    parent, child = chain[at], chain[at + 1]
    if type(parent) is types.TracebackType:
        if child is parent.tb_frame:
            if at + 2 < len(chain):
                local = _local(parent.tb_frame, chain[at + 2])
                if local is not None:
                    where = f"{printable(parent.tb_frame.f_code.co_qualname)}() at line {parent.tb_lineno}"
                    return Edge(f"frame of {where}, local {local}", used=2, trait="")
            return Edge(f"frame of {printable(parent.tb_frame.f_code.co_qualname)}()")
        return Edge("tb_next")
    if type(parent) is types.FrameType:
        local = _local(parent, child)
        return Edge(f"local {local or '(unnamed)'} of {printable(parent.f_code.co_qualname)}()")
    frame_of = _FRAMES.get(id(type(parent)))
    if frame_of is None:
        return None
    frame = getattr(parent, frame_of)
    local = _local(frame, child) if frame is not None else None
    name = printable(parent.__qualname__)
    line = f" at line {frame.f_lineno}" if frame is not None else ""
    return Edge(f"local {local} of {name}(){line}" if local else f"{name}(){line}")


_FRAMES: dict[int, str] = {
    id(types.GeneratorType): "gi_frame",
    id(types.CoroutineType): "cr_frame",
    id(types.AsyncGeneratorType): "ag_frame",
}


def _local(frame: types.FrameType, value: Any) -> str | None:
    names = locals_of(frame)
    return next((printable(name) for name, one in names.items() if one is value), None)


def _of_exception(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    parent, child = chain[at], chain[at + 1]
    if not is_a(parent, BaseException):
        return None
    for name in ("__traceback__", "__context__", "__cause__", "args"):
        if BaseException.__dict__[name].__get__(parent) is child:
            return Edge(name, trait="traceback" if name == "__traceback__" else "")
    return None


def _of_class(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    """A class's attribute; the dictionary that it lies in is no stop of its own."""
    parent, child = chain[at], chain[at + 1]
    if not is_class(parent):
        return None
    following = chain[at + 2] if at + 2 < len(chain) else None
    for name, value in list(own(parent).items()):
        if value is following and type(child) is dict:
            return Edge(f"{named(parent)}.{printable(str(name))}", used=2, cut=_class_cut(parent, name))
        if value is child:
            return Edge(f"{named(parent)}.{printable(str(name))}", cut=_class_cut(parent, name))
    return Edge(f"class {named(parent)}")


def _class_cut(kind: type, name: Any) -> Cut | None:
    return (
        Cut(kind="attribute", name=f"{type.__dict__['__qualname__'].__get__(kind)}.{name}")
        if type(name) is str
        else None
    )


def _named_cut(name: Any) -> Cut | None:
    return Cut(kind="attribute", name=name) if type(name) is str else None


def _of_cache(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    parent, child = chain[at], chain[at + 1]
    if type(parent) is not CACHE:
        return None
    wrapped = (instance_dict(parent) or {}).get("__wrapped__")
    name = printable(wrapped.__qualname__) if type(wrapped) is types.FunctionType else "a function"
    return Edge(
        f"lru_cache of {name}" if child is not wrapped else "__wrapped__", trait="cache" if child is not wrapped else ""
    )


def _of_weak_reference(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    return Edge("callback of a weak reference") if is_a(chain[at], weakref.ReferenceType) else None


def _of_instance(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    """An attribute; a module's child, parameter or buffer by its own name, unless its table is what grows."""
    parent, child = chain[at], chain[at + 1]
    if at + 2 < len(chain) and child is instance_dict(parent) and type(child) is dict:
        edge = _attribute_edge(parent, chain[at + 2], 2)
        if edge is not None:
            return _through_table(chain, at, edge, open_keys)
    edge = _attribute_edge(parent, child, 1)
    return _through_table(chain, at, edge, open_keys) if edge is not None else None


def _through_table(chain: Sequence[Any], at: int, edge: Edge, open_keys: set[int]) -> Edge:
    table = chain[at + edge.used]
    if edge.name in _TABLES and is_a(table, dict):
        edge.trait = "module_table"
        after = at + edge.used + 1
        if after < len(chain) and id(table) not in open_keys:
            key, _ = _place_in(table, chain[after])
            if type(key) is str:
                return Edge(printable(key), used=edge.used + 1, cut=_named_cut(key))
    elif edge.name.endswith("hooks") or "_hooks_" in edge.name:
        edge.trait = "hooks"
    elif edge.name in ("state", "param_groups") and trait_of(chain[at]) == "optimizer":
        edge.trait = "optimizer"
    return edge


def _attribute_edge(parent: Any, child: Any, used: int) -> Edge | None:
    for name, value in attributes(parent):
        if value is child:
            return Edge(printable(name), used=used, cut=Cut(kind="attribute", name=name))
    return None


def _of_c_types(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    """asyncio's futures and tasks, built-in methods and contexts, which have no attributes to ask."""
    parent, child = chain[at], chain[at + 1]
    if trait_of(parent) == "task":
        return Edge("coroutine" if is_a(child, types.CoroutineType) else "callbacks" if is_a(child, list) else "result")
    if type(parent) is types.BuiltinFunctionType:
        return Edge("__self__")
    if named(type(parent)) in ("Context", "hamt") or named(type(parent)).startswith("hamt_"):
        used = 1
        while at + used + 1 < len(chain) and named(type(chain[at + used])).startswith("hamt"):
            used += 1
        return Edge("a value", used=used)
    return None


def _of_tensor(chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge | None:
    parent, child = chain[at], chain[at + 1]
    if trait_of(parent) != "tensor":
        return None
    if is_a(child, dict):
        return Edge("_backward_hooks", trait="hooks")
    return Edge("grad_fn", trait="node")


NAMERS = (
    _in_dict,
    _in_sequence,
    _of_function,
    _of_method,
    _of_code_that_runs,
    _of_exception,
    _of_class,
    _of_cache,
    _of_weak_reference,
    _of_c_types,
    _of_instance,
    _of_tensor,
)
