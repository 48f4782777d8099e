"""Everything that is reached: by Python's references, and beyond them by graphs, gradients and arrays."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

from harness.retainers.graph import Graph, is_node_type, tensor_getters
from harness.retainers.heap_walk import Walk
from harness.retainers.roots import Root
from harness.retainers.unreached import enter_unreached

__all__ = ["Reach"]

_MOST_ROUNDS = 3
_PARTS = {
    "torch.sparse_coo": ("_indices", "_values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


def keys_under(tensor: Any, key_of: Callable[[Any], int]) -> tuple[int, ...]:
    """The ledger's keys of the storages under *tensor*: several under a sparse one, none under one without memory."""
    import torch

    layout_of: Any = vars(torch._C.TensorBase)["layout"].__get__
    parts = _PARTS.get(str(layout_of(tensor)))
    if parts is None:
        return (key_of(tensor),)
    with torch._C.DisableTorchFunctionSubclass():
        return tuple(key_of(getattr(torch.Tensor, part)(tensor)) for part in parts)


class Reach:
    """A walk together with what lies outside Python's references. ``tensors`` are those on the *wanted* storages, by
    the ledger's key."""

    def __init__(
        self, walk: Walk, roots: list[Root], graph: Graph, key_of: Callable[[Any], int], wanted: set[int]
    ) -> None:
        self.walk, self.roots, self.graph = walk, roots, graph
        self._key_of = key_of
        self._wanted = wanted
        self._seen: set[int] = set()
        self.tensors: dict[int, list[Any]] = {}

    def complete(self, callbacks: str, collected: bool) -> None:
        """Follow everything until nothing new is met; the unreached only once all else is known."""
        for _ in range(_MOST_ROUNDS):
            if not self._round():
                break
        enter_unreached(self.walk, self.roots, {id(self.tensors), id(self._seen)}, callbacks, collected)
        for _ in range(_MOST_ROUNDS):
            if not self._round():
                break

    def close(self) -> None:
        """Let go of everything: this object is itself among what the walk met."""
        self.walk.close()
        self.roots.clear()
        self.tensors.clear()
        del self.walk, self.graph

    def _round(self) -> int:
        import torch

        grad_fn_of, is_leaf, grad_of = tensor_getters()
        starts: list[tuple[Any, Any]] = []
        entered: list[Root] = []
        for tensor in self.walk.instances(torch._C.TensorBase):
            if id(tensor) in self._seen:
                continue
            self._seen.add(id(tensor))
            try:
                for key in keys_under(tensor, self._key_of):
                    if key in self._wanted:
                        self.tensors.setdefault(key, []).append(tensor)
                if is_leaf(tensor):
                    gradient = grad_of(tensor)
                    if gradient is not None and gradient not in self.walk:
                        entered.append(Root(kind="library", text="", thing=gradient, origin=tensor, via="grad"))
                else:
                    starts.append((grad_fn_of(tensor), tensor))
            except (RuntimeError, NotImplementedError, TypeError):
                continue
        starts += self._nodes()
        custom = self.graph.enter(sorted(starts, key=lambda start: self._rank(start[1])))
        entered += [
            Root(kind="library", text="", thing=node, origin=node, via="node")
            for node in custom
            if node not in self.walk
        ]
        entered += self._array_elements()
        first = len(self.roots)
        self.roots += entered
        return self.walk.enter([root.thing for root in entered], first) if entered else 0

    def _rank(self, thing: Any) -> int:
        number = self.walk.root_of(thing)
        return len(self.roots) if number is None else number

    def _nodes(self) -> list[tuple[Any, Any]]:
        """Nodes that Python objects hold by themselves."""
        kinds = [kind for kind, _, _ in self.walk.types() if is_node_type(kind)]
        nodes = [node for kind in kinds for node in self.walk.instances(kind) if id(node) not in self._seen]
        self._seen.update(id(node) for node in nodes)
        return [(node, node) for node in nodes]

    def _array_elements(self) -> list[Root]:
        """numpy's arrays take no part in the collector's graph: what an array of objects holds is asked of it."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return []
        found = []
        for array in self.walk.instances(numpy.ndarray):
            if id(array) in self._seen:
                continue
            self._seen.add(id(array))
            base = numpy.ndarray.base.__get__(array)
            children = [] if base is None else [base]
            if numpy.ndarray.dtype.__get__(array).hasobject:
                children += numpy.ndarray.ravel(array).tolist()
            found += [
                Root(kind="library", text="", thing=child, origin=array, via="[*]" if child is not base else "base")
                for child in children
                if gc.is_tracked(child) and child not in self.walk
            ]
        return found
