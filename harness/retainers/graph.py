"""What autograd holds: nodes, what they saved, and the gradients of leaves. C++ objects, which no collector sees.

Only ``next_functions``, ``variable``, ``_raw_saved_*`` and ``_grad`` are read, through torch's own types. Never
``_saved_*``: that runs unpack hooks, and a checkpoint's whole forward again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from harness.model.holding import NodeBytes
from harness.retainers.safely import is_a, mro_of, named, own

__all__ = ["Graph", "is_node_type", "tensor_getters"]

_MOST_NODES = 300_000


def is_node_type(kind: type) -> bool:
    """Whether *kind* is an autograd node's Python type, by what the type itself declares."""
    return any("next_functions" in own(base) for base in mro_of(kind))


def tensor_getters() -> tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]:
    """(grad_fn, is_leaf, grad) of a tensor, past any override of its class."""
    import torch

    base: Any = vars(torch._C.TensorBase)
    return base["grad_fn"].__get__, base["is_leaf"].__get__, base["_grad"].__get__


class Graph:
    """The nodes reached so far, each with the one that led to it, and the storages they saved.

    *key_of* is the ledger's; it raises for a tensor without a storage of its own."""

    def __init__(self, key_of: Callable[[Any], int]) -> None:
        self._key_of = key_of
        self._from: dict[int, tuple[Any, Any, bool]] = {}  # id(node) -> node, what led to it, whether that is a node
        self._saved: dict[int, tuple[Any, str]] = {}  # key -> node, attribute
        self._bytes: dict[str, list[int]] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        self._owners: dict[int, list[Any]] = {}  # id(origin) -> origin, how many nodes are reached through it first
        self._owner_of: dict[int, int] = {}
        self.is_complete = True

    def enter(self, starts: Iterable[tuple[Any, Any]]) -> list[Any]:
        """Walk on from (node, the object that led to it); returns the new nodes that are Python objects of their own
        right (custom functions), in whose attributes more may be held."""
        import torch

        queue: list[Any] = []
        custom: list[Any] = []
        for node, origin in starts:
            if node is not None and id(node) not in self._from:
                self._from[id(node)] = (node, origin, False)
                self._count(node, self._owners.setdefault(id(origin), [origin, 0]))
                queue.append(node)
        at = 0
        while at < len(queue):
            node = queue[at]
            at += 1
            self._read(node)
            if is_a(node, torch._C._FunctionBase):
                custom.append(node)
            if len(self._from) >= _MOST_NODES:
                self.is_complete = False
                break
            for following, _ in node.next_functions:
                if following is not None and id(following) not in self._from:
                    self._from[id(following)] = (following, node, True)
                    self._count(following, self._owners[self._owner_of[id(node)]])
                    queue.append(following)
        return custom

    def _count(self, node: Any, owner: list[Any]) -> None:
        owner[1] += 1
        self._owner_of[id(node)] = id(owner[0])

    def owners(self, most: int = 32) -> list[tuple[Any, int]]:
        """The objects that the graphs are entered from and how many nodes each leads to first, most nodes first."""
        ordered = sorted(self._owners.values(), key=lambda owner: -owner[1])
        return [(origin, nodes) for origin, nodes in ordered[:most]]

    def __len__(self) -> int:
        return len(self._from)

    def saved(self, key: int) -> tuple[Any, str] | None:
        """(node, name) of what saved the storage under *key*; None where nothing did."""
        return self._saved.get(key)

    @property
    def saved_keys(self) -> Iterable[int]:
        """The storages that nodes saved."""
        return self._saved.keys()

    def way_to(self, node: Any) -> tuple[Any, list[Any]]:
        """The object that the graph is entered from, and the nodes from there to *node*."""
        nodes: list[Any] = []
        at: Any = node
        while True:
            one, origin, is_node = self._from[id(at)]
            nodes.append(one)
            if not is_node:
                return origin, nodes[::-1]
            at = origin

    def bytes_by_node(self, most: int = 6) -> tuple[NodeBytes, ...]:
        """The kinds of nodes that save most."""
        kinds = sorted(self._bytes.items(), key=lambda item: (-item[1][1], -item[1][0]))[:most]
        return tuple(NodeBytes(name=name, nodes=count, bytes=size) for name, (count, size) in kinds)

    def _read(self, node: Any) -> None:
        totals = self._bytes.setdefault(named(type(node)), [0, 0])
        totals[0] += 1
        for name, tensor in self._tensors_of(node):
            try:
                key = self._key_of(tensor)
            except (RuntimeError, NotImplementedError, TypeError):
                continue
            if key not in self._saved:
                self._saved[key] = (node, name)
                if name != "variable":
                    totals[1] += _storage_bytes(tensor)

    def _tensors_of(self, node: Any) -> Iterator[tuple[str, Any]]:
        kind = type(node)
        names = self._names.get(id(kind))
        if names is None:
            declared = {name for base in mro_of(kind) for name in own(base)}
            names = tuple(sorted(n for n in declared if n.startswith("_raw_saved_") or n == "variable"))
            self._names[id(kind)] = names
        for name in names:
            try:
                saved = _declared(kind, name).__get__(node)
            except (RuntimeError, AttributeError, TypeError):
                continue  # freed already: backward went through it
            for one in saved if type(saved) in (tuple, list) else (saved,):
                tensor = one if name == "variable" else getattr(one, "data", None)
                if tensor is not None and _is_tensor(tensor):
                    yield name.removeprefix("_raw_saved_"), tensor


def _declared(kind: type, name: str) -> Any:
    return next(own(base)[name] for base in mro_of(kind) if name in own(base))


def _is_tensor(thing: Any) -> bool:
    import torch

    return is_a(thing, torch._C.TensorBase)


def _storage_bytes(tensor: Any) -> int:
    import torch

    try:
        with torch._C.DisableTorchFunctionSubclass():
            return int(torch.Tensor.untyped_storage(tensor).nbytes())
    except (RuntimeError, NotImplementedError):
        return 0
