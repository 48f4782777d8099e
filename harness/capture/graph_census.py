"""How much autograd graph the program holds, and which survivors only a graph holds."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import msgspec

__all__ = ["GraphCensus", "take_census"]

_MOST_NODES = 200_000
_SAMPLED_SITES = 8
_SAMPLED_STORAGES = 4


class GraphCensus(msgspec.Struct, frozen=True, kw_only=True):
    """``nodes``: autograd nodes reachable from live tensors and from nodes that Python holds. ``in_graph``: how many
    of a site's storages a graph holds, reckoned from a sample of its youngest."""

    nodes: int
    in_graph: dict[int, int]


def take_census(storages: dict[int, int] | None = None, *, key_of: Callable[[Any], int] | None = None) -> GraphCensus:
    """Walk the collector's objects once (frozen ones, torch's own, are skipped) and the graphs from there.

    *storages* maps a ledger's storage keys to their sites, oldest first, and *key_of* is that ledger's own; without
    them only nodes are counted. Nothing of the user's runs: attributes are read through torch's own types, and only
    ``next_functions`` is followed, never ``_saved_*`` (that runs unpack hooks).
    """
    import torch

    grad_fn_of: Any = vars(torch._C.TensorBase)["grad_fn"].__get__
    wanted = _sample(storages or {})
    roots: list[Any] = []
    on_sample: dict[int, list[Any]] = {}
    has_node: set[int] = set()
    is_node: dict[type, bool] = {}
    for candidate in gc.get_objects():
        kind = type(candidate)
        if not issubclass(kind, torch.Tensor):
            if kind not in is_node:
                is_node[kind] = _is_node(kind)
            if is_node[kind]:
                roots.append(candidate)
            continue
        try:
            node = grad_fn_of(candidate)
            key = key_of(candidate) if key_of is not None else 0
        except (RuntimeError, NotImplementedError):
            continue  # no storage of its own: sparse, opaque, wrapper
        if node is not None:
            roots.append(node)
            has_node.add(key)
        if key in wanted:
            on_sample.setdefault(key, []).append(candidate)
    candidate = None
    held = _held_by_graph(on_sample, has_node) if on_sample else set()
    return GraphCensus(nodes=_count_nodes(roots), in_graph=_by_site(storages or {}, wanted, held))


def _is_node(kind: type) -> bool:
    """An autograd node's Python type, told by what the type itself declares (no instance is asked)."""
    return any("next_functions" in vars(base) for base in kind.__mro__)


def _sample(storages: dict[int, int]) -> dict[int, int]:
    """The youngest storages of the sites that have most."""
    by_site: dict[int, list[int]] = {}
    for key, site in storages.items():
        by_site.setdefault(site, []).append(key)
    largest = sorted(by_site.items(), key=lambda item: len(item[1]), reverse=True)[:_SAMPLED_SITES]
    return {key: site for site, keys in largest for key in keys[-_SAMPLED_STORAGES:]}


def _held_by_graph(tensors: dict[int, list[Any]], has_node: set[int]) -> set[int]:
    """Storages with a tensor that has a ``grad_fn``, or whose tensors no Python object refers to: then only C++
    does, and that is a graph's saved tensors. One scan of the heap answers for all."""
    flat = [tensor for group in tensors.values() for tensor in group]
    referred: set[int] = set()
    ours = {id(group) for group in tensors.values()} | {id(flat)}
    for referrer in gc.get_referrers(*flat):
        if id(referrer) not in ours:
            referred.update(id(target) for target in gc.get_referents(referrer))
    return {
        key for key, group in tensors.items() if key in has_node or not any(id(tensor) in referred for tensor in group)
    }


def _by_site(storages: dict[int, int], wanted: dict[int, int], in_graph: set[int]) -> dict[int, int]:
    totals: dict[int, int] = {}
    for site in storages.values():
        totals[site] = totals.get(site, 0) + 1
    sampled: dict[int, list[bool]] = {}
    for key, site in wanted.items():
        sampled.setdefault(site, []).append(key in in_graph)
    return {site: round(totals[site] * sum(held) / len(held)) for site, held in sampled.items() if any(held)}


def _count_nodes(roots: list[Any]) -> int:
    reached: set[Any] = set(roots)
    queue = list(reached)
    while queue and len(reached) < _MOST_NODES:
        for node, _ in queue.pop().next_functions:
            if node is not None and node not in reached:
                reached.add(node)
                queue.append(node)
    return len(reached)
