"""From tensors to the storages under them, and back."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from harness.ledger.protocol import Ledger
from harness.scope.closed_tensor import ClosedTensor

__all__ = ["is_foreign", "key_of", "kind_of_foreign", "objects_of", "storages_of", "tensors_by_key", "tensors_in"]

_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """The tensors of a pytree; a tensor itself is one."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def storages_of(tensor: torch.Tensor) -> Iterator[Any]:
    """The untyped storages under *tensor*: several under a sparse one, none under one that takes no memory."""
    if type(tensor) is ClosedTensor or tensor.device.type == "meta":
        return
    parts = _PARTS.get(tensor.layout)
    if parts is not None:
        for part in parts:
            yield from storages_of(getattr(tensor.detach(), part)())
        return
    try:
        yield tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return


def objects_of(*kinds: type) -> list[Any]:
    """All living objects of these types that the collector knows, closed tensors left out."""
    asked: dict[type, bool] = {ClosedTensor: False}
    found = []
    for candidate in gc.get_objects():
        kind = type(candidate)
        wanted = asked.get(kind)
        if wanted is None:
            wanted = asked[kind] = issubclass(kind, kinds)
        if wanted:
            found.append(candidate)
    return found


def key_of(storage: Any, ledger: Ledger) -> int:
    """What the ledger knows a storage by (:meth:`Ledger.key_of` asks for a tensor; a sparse one has several)."""
    return int(storage.data_ptr() if ledger.source == "native" and storage.device.type == "cpu" else storage._cdata)


def is_foreign(storage: Any) -> bool:
    """Whether the memory is not of torch's allocator: numpy's, mapped, or shared between processes."""
    return storage.device.type == "cpu" and (not storage.resizable() or storage.is_shared())


def kind_of_foreign(storage: Any) -> str:
    """What a storage is that the ledger does not know."""
    if storage.device.type == "cpu" and storage.is_shared():
        return "mapped or shared memory"
    return "older than the ledger" if storage.resizable() else "foreign memory"


def tensors_by_key(keys: Iterable[int], ledger: Ledger) -> dict[int, list[torch.Tensor]]:
    """The Python tensors on the storages with these keys. Walks over all objects once: some ten milliseconds."""
    wanted = set(keys)
    found: dict[int, list[torch.Tensor]] = {}
    for candidate in objects_of(torch.Tensor) if wanted else ():
        for storage in storages_of(candidate):
            key = key_of(storage, ledger)
            if key in wanted:
                found.setdefault(key, []).append(candidate)
    return found
