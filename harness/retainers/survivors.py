"""The ways to the survivors of each site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from harness.model.holding import HolderPath
from harness.retainers.paths import Paths, grouped
from harness.retainers.reach import Reach

__all__ = ["Wanted", "ways_by_site"]

_MOST_SAMPLED = 50


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One survivor that a holder is wanted for: its site, the ledger's key, its bytes."""

    site: int
    key: int
    bytes: int


def ways_by_site(
    survivors: Sequence[Wanted], found: Reach, paths: Paths
) -> tuple[dict[int, tuple[HolderPath, ...]], dict[int, int]]:
    """By site, the ways to a sample of its survivors, and how many of these nothing was found to hold."""
    by_site: dict[int, list[Wanted]] = {}
    for one in survivors:
        by_site.setdefault(one.site, []).append(one)
    told: dict[int, tuple[HolderPath, ...]] = {}
    unheld: dict[int, int] = {}
    for site, its in by_site.items():
        ways = []
        for one in _sampled(its):
            path = _path_to(one, found, paths)
            if path is None or path.root_kind == "ours":
                unheld[site] = unheld.get(site, 0) + 1
            else:
                ways.append(path)
        told[site] = grouped(ways)
    return told, unheld


def _sampled(survivors: Sequence[Wanted]) -> Iterable[Wanted]:
    """The oldest, the youngest and some between."""
    if len(survivors) <= _MOST_SAMPLED:
        return survivors
    stride = len(survivors) / _MOST_SAMPLED
    return [survivors[int(k * stride)] for k in range(_MOST_SAMPLED - 1)] + [survivors[-1]]


def _path_to(one: Wanted, found: Reach, paths: Paths) -> HolderPath | None:
    """Through Python where a tensor is there, the way that begins at the most understandable root; else by a graph."""
    path, tensor = _clearest(found.tensors.get(one.key, ()), paths)
    if path is None or path.root_kind in ("native", "cycle", "surplus"):
        path = paths.to_saved(one.key) or path
    if path is None:
        return None
    visible = _visible_bytes(tensor) if tensor is not None else None
    return msgspec.structs.replace(path, storages=1, bytes=one.bytes, visible_bytes=visible)


def _clearest(tensors: Iterable[Any], paths: Paths) -> tuple[HolderPath | None, Any]:
    """Of the tensors on one storage, the one whose way begins at the clearest root and is shortest; a view's way comes
    before that of the base which only the view leads to."""
    best: tuple[tuple[int, int], HolderPath, Any] | None = None
    for tensor in tensors:
        path = paths.to_object(tensor)
        if path is not None:
            rank = (paths.root_number(tensor), len(path.links))
            if best is None or rank < best[0] or (rank == best[0] and _visible_bytes(tensor) > _visible_bytes(best[2])):
                best = (rank, path, tensor)
    return (None, None) if best is None else best[1:]


def _visible_bytes(tensor: Any) -> int:
    import torch

    with torch._C.DisableTorchFunctionSubclass():
        try:
            return int(torch.Tensor.numel(tensor) * torch.Tensor.element_size(tensor))
        except (RuntimeError, NotImplementedError):
            return 0
