"""How much autograd graph the program holds: found from the tensors that Python can see."""

from __future__ import annotations

import gc
from typing import Any

import msgspec

__all__ = ["GraphCensus", "take_census"]

_MOST_NODES = 200_000


class GraphCensus(msgspec.Struct, frozen=True, kw_only=True):
    """``nodes``: autograd nodes reachable from live tensors. ``in_graph``: of the ledger's storages (by site), how
    many belong to a tensor with a ``grad_fn``, or to no Python tensor at all, so that only C++ (a graph's saved
    tensors, most often) can hold them."""

    nodes: int
    in_graph: dict[int, int]


def take_census(storages: dict[int, int]) -> GraphCensus:
    """Walk the collector's objects once (frozen ones, torch's own, are skipped) and the graphs from there.

    *storages* maps a storage's C++ address to its site. Nothing of the user's runs: attributes are read through
    torch's own type, and only ``next_functions`` is followed, never ``_saved_*`` (that runs unpack hooks).
    """
    import torch

    grad_fn_of: Any = vars(torch._C.TensorBase)["grad_fn"].__get__
    roots: list[Any] = []
    plain: set[int] = set()
    is_node: dict[type, bool] = {}
    for candidate in gc.get_objects():
        kind = type(candidate)
        if not issubclass(kind, torch.Tensor):
            node_kind = is_node.get(kind)
            if node_kind is None:
                node_kind = is_node[kind] = _is_node(kind)
            if node_kind:
                roots.append(candidate)
            continue
        try:
            node = grad_fn_of(candidate)
            key = torch.Tensor.untyped_storage(candidate)._cdata
        except (RuntimeError, NotImplementedError):
            continue
        if node is not None:
            roots.append(node)
        else:
            plain.add(key)
    del candidate
    by_site: dict[int, int] = {}
    for key, site in storages.items():
        if key not in plain:
            by_site[site] = by_site.get(site, 0) + 1
    return GraphCensus(nodes=_count_nodes(roots), in_graph=by_site)


def _is_node(kind: type) -> bool:
    """An autograd node's Python type, told by what the type itself declares (no instance is asked)."""
    return any("next_functions" in vars(base) for base in kind.__mro__)


def _count_nodes(roots: list[Any]) -> int:
    reached: set[Any] = set(roots)
    queue = list(reached)
    while queue and len(reached) < _MOST_NODES:
        for node, _ in queue.pop().next_functions:
            if node is not None and node not in reached:
                reached.add(node)
                queue.append(node)
    return len(reached)
