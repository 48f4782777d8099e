"""Who holds a tensor that outlived its scope: names of locals, containers and attributes, or C++."""

from __future__ import annotations

import gc
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from harness.ledger.protocol import Ledger
from harness.retainers.roots import locals_of
from harness.scope.storages import key_of, storages_of, tensors_by_key

__all__ = ["cpp_owners", "holders_of", "locals_of", "named_in"]

_MOST_NAMED = 4

_BOX = [object()]
_ONE_REFERENCE = sys.getrefcount(_BOX[0])
"""What is counted for something that only one list refers to (the question itself counts, or not: it is measured)."""


def holders_of(keys: Iterable[int], ledger: Ledger, *, frame: FrameType | None = None) -> dict[int, tuple[str, ...]]:
    """For each storage what holds it, in words. Walks over all objects twice: some tens of milliseconds."""
    wanted = list(keys)
    tensors = tensors_by_key(wanted, ledger)
    found: dict[int, list[str]] = {key: [] for key in wanted}
    ours = {id(on_it) for on_it in tensors.values()}
    names = _names_of([t for on_it in tensors.values() for t in on_it], frame, ours)
    for key in wanted:
        for tensor in tensors.get(key, ()):
            found[key] += names.get(id(tensor), [])
        if not found[key]:
            found[key].append("an autograd graph or other C++ code (no Python name leads to it)")
    return {key: tuple(dict.fromkeys(words))[:_MOST_NAMED] for key, words in found.items()}


def _names_of(tensors: list[torch.Tensor], frame: FrameType | None, ours: set[int]) -> dict[int, list[str]]:
    ids = {id(t) for t in tensors}
    names: dict[int, list[str]] = {}
    for at in _frames(frame):
        for name, value in locals_of(at).items():
            if id(value) in ids and at.f_code.co_name != "<module>":
                names.setdefault(id(value), []).append(f"local variable {name} of {at.f_code.co_qualname}")
    for referrer in gc.get_referrers(*tensors) if tensors else ():
        if referrer is tensors or id(referrer) in ours or isinstance(referrer, FrameType):
            continue
        for identity, words in _described(referrer, ids):
            names.setdefault(identity, []).append(words)
    return names


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _described(referrer: Any, ids: set[int]) -> Iterator[tuple[int, str]]:
    if isinstance(referrer, dict):
        owner = _owner_of(referrer)
        for key, value in list(referrer.items()):
            if id(value) in ids:
                yield id(value), f"{owner}.{key}" if owner else f"a dict of {len(referrer)}, under {ascii(key)[:40]}"
    elif not isinstance(referrer, (FunctionType, torch.Tensor)):
        size = f" of {len(referrer)}" if isinstance(referrer, (list, tuple, set)) else ""
        words = "a closure" if isinstance(referrer, CellType) else f"a {type(referrer).__name__}{size}"
        for value in gc.get_referents(referrer):
            if id(value) in ids:
                yield id(value), words


def _owner_of(namespace: Mapping[str, Any]) -> str | None:
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if isinstance(module, ModuleType) and module.__dict__ is namespace:
        return f"module {name}"
    for referrer in gc.get_referrers(namespace):
        if getattr(referrer, "__dict__", None) is namespace:
            return f"a {type(referrer).__name__}"
    return None


def cpp_owners(tensor: torch.Tensor) -> str | None:
    """What in C++ holds *tensor* or its storage, besides the tensor's own Python object; None where nothing does."""
    if tensor._use_count() > 1:  # type: ignore[attr-defined]
        return "an autograd graph that saved it, a view or a numpy array"
    for storage in storages_of(tensor):
        owners = torch._C._storage_Use_Count(storage._cdata)
        if owners > 2:  # the tensor's, and that of the object that was just made to ask
            return "another tensor, a numpy array or C++ code on the same storage"
    return None


def named_in(
    frame: FrameType, keys: set[int], ledger: Ledger, *, through_graphs: bool, items: Container[int] = ()
) -> set[int]:
    """Those of *keys* that only the frame's own variables lead to: tensors that nothing else refers to, those inside
    the containers whose identities are in *items*, and with *through_graphs* what their graphs saved."""
    explained: dict[int, int] = {}
    boxes: dict[int, list[torch.Tensor]] = {}
    for value in list(locals_of(frame).values()):
        for one in tree_leaves(value) if id(value) in items else (value,):
            if isinstance(one, torch.Tensor):
                boxes[id(one)] = [one]
                explained[id(one)] = explained.get(id(one), 0) + 1
    value = one = None
    found: set[int] = set()
    seen: set[Any] = set()
    for identity, box in boxes.items():
        if sys.getrefcount(box[0]) - _ONE_REFERENCE > explained[identity]:
            continue
        found |= _keys_under(box[0], ledger) & keys
        if through_graphs:
            found |= _saved_by(box[0].grad_fn, seen, ledger) & keys
    return found


def _keys_under(tensor: torch.Tensor, ledger: Ledger) -> set[int]:
    return {key_of(storage, ledger) for storage in storages_of(tensor)}


def _saved_by(node: Any, seen: set[Any], ledger: Ledger) -> set[int]:
    """The storages that a graph saved, read from ``_raw_saved_*`` (``_saved_*`` would run unpack hooks)."""
    found: set[int] = set()
    ahead = [node]
    while ahead:
        at = ahead.pop()
        if at is None or at in seen or len(seen) > 100_000:
            continue
        seen.add(at)
        for name in dir(at):
            if name.startswith("_raw_saved_"):
                saved = getattr(at, name)
                for one in saved if isinstance(saved, (tuple, list)) else (saved,):
                    data = getattr(one, "data", None)
                    if isinstance(data, torch.Tensor):
                        found |= _keys_under(data, ledger)
        ahead += [following for following, _ in at.next_functions]
    return found
