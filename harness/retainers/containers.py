"""The containers that gain elements: found by comparing two looks, grouped by the way to them."""

from __future__ import annotations

import collections
import gc
import sys
import types
from collections.abc import Iterable
from typing import Any

import msgspec

from harness.model.holding import GrownContainer, HolderPath, Link
from harness.retainers.paths import Paths
from harness.retainers.safely import is_a, named, own, qualified
from harness.retainers.traits import trait_of

__all__ = ["Group", "grown_groups", "newest_of"]

_MOST_GROUPS = 12
_MOST_IN_ELEMENT = 400
_SHARED = 6
_HEADER = 16
"""What the collector keeps in front of each object that it tracks (bytes)."""

_NO_LONGER_THE_SAME = ("ours", "cycle")
"""What was measured was reached from the program's roots. A container at its address that is only in a cycle now is
another one: the address was used again, most likely by a list of this very look."""

_NO_ELEMENT = (types.ModuleType, type, types.FrameType, types.CodeType)


class Group(msgspec.Struct, kw_only=True):
    """Grown containers of one path, and what is told of them."""

    containers: list[Any]
    told: GrownContainer


def grown_groups(
    grown: Iterable[tuple[Any, int, int]], paths: Paths, *, steps: int, is_tensor_key: set[int] | None = None
) -> list[Group]:
    """One group a path, those that grow by most bytes first. Containers that no root of the program's leads to, or
    only ours, are left out."""
    found: dict[tuple[str, ...], Group] = {}
    for container, then, now in grown:
        path = paths.to_object(container)
        if path is None or path.root_kind in _NO_LONGER_THE_SAME or not _can_be_told(container):
            continue
        if any(link.kind.startswith("harness.") for link in path.links) or _is_inside_another(path, now - then):
            continue
        key = (path.root, *(_open_name(link) for link in path.links))
        known = found.get(key)
        if known is None:
            element, size, tensors = _of_newest(container)
            told = GrownContainer(
                path=_ending_at_suspect(path, then, now), size_then=then, size_now=now, steps=steps, element=element,
                element_bytes=size, element_tensors=tensors,
            )  # fmt: skip
            found[key] = Group(containers=[container], told=told)
        else:
            known.containers.append(container)
            known.told = _with_another(known.told, then, now)
    ordered = sorted(found.values(), key=lambda g: (_is_weak(g.told), -g.told.bytes_per_step, -g.told.per_step))
    return ordered[:_MOST_GROUPS]


def _is_weak(told: GrownContainer) -> bool:
    """A table of weak references holds nothing: it grows because others hold."""
    return told.element.endswith(("ReferenceType", "weakref.KeyedRef", "weakref.WeakMethod", "StorageWeakRef"))


def _is_inside_another(path: HolderPath, gain: int) -> bool:
    """Elements of a growing container come and go with their own containers: their addresses are used again, and what
    lies there now only seems to have grown."""
    if path.grew is None or path.suspect is None or path.suspect == len(path.links) - 1:
        return False
    return 2 * (path.grew[1] - path.grew[0]) >= gain


def _can_be_told(container: Any) -> bool:
    """Whether it has elements: an instance that gained an attribute, or a cell that was filled, is no container."""
    module = own(type(container)).get("__module__")
    told = is_a(container, list, dict, set, collections.deque, bytearray) or trait_of(container) == "cache"
    return told or type(module) is not str


def _open_name(link: Link) -> str:
    return "[*]" if link.name.startswith("[") else link.name


def _ending_at_suspect(path: HolderPath, then: int, now: int) -> HolderPath:
    return msgspec.structs.replace(path, suspect=len(path.links) - 1 if path.links else None, grew=(then, now))


def _with_another(told: GrownContainer, then: int, now: int) -> GrownContainer:
    path = told.path
    if told.containers == 1:
        links = tuple(
            msgspec.structs.replace(link, text=link.text.replace(link.name, "[*]", 1), name="[*]", cut=None)
            if link.name.startswith("[")
            else link
            for link in path.links
        )
        path = msgspec.structs.replace(path, links=links)
    size_then, size_now = told.size_then + then, told.size_now + now
    return msgspec.structs.replace(
        told,
        path=msgspec.structs.replace(path, grew=(size_then, size_now)),
        size_then=size_then,
        size_now=size_now,
        containers=told.containers + 1,
    )


def newest_of(container: Any) -> Any:
    """What was added last, by the built-in type's own method; None where that cannot be told."""
    try:
        if is_a(container, list):
            return list.__getitem__(container, -1)
        if is_a(container, collections.deque):
            return collections.deque.__getitem__(container, -1)
        if is_a(container, dict):
            return tuple(dict.items(container))[-1]
        if is_a(container, set):
            return next(set.__iter__(container))
        referents = gc.get_referents(container)
        return referents[0] if referents else None
    except (IndexError, StopIteration, RuntimeError):
        return None


def _of_newest(container: Any) -> tuple[str, int, int]:
    """(type, bytes, tensors) of the newest element with what seems to be only its own."""
    if is_a(container, bytearray):
        return "byte", 1, 0
    newest = newest_of(container)
    if newest is None:
        return "", 8, 0
    shown = newest[1] if is_a(container, dict) else newest
    size, tensors = _owned(newest, pair=is_a(container, dict))
    return qualified(type(shown)) if type(shown) is not dict else "dict", size + 8, tensors


def _owned(element: Any, *, pair: bool) -> tuple[int, int]:
    size = tensors = 0
    seen = {id(element)}
    queue: list[Any] = list(element) if pair else [element]
    seen.update(id(o) for o in queue)
    at = 0
    while at < len(queue) and at < _MOST_IN_ELEMENT:
        thing = queue[at]
        at += 1
        if is_a(thing, *_NO_ELEMENT) or thing is None or (sys.getrefcount(thing) > _SHARED and at > 2):
            continue
        size += size_in_bytes(thing)
        tensors += named(type(thing)) in ("Tensor", "Parameter")
        namespace = thing.__globals__ if type(thing) is types.FunctionType else None
        for child in gc.get_referents(thing):
            if id(child) not in seen and child is not namespace:
                seen.add(id(child))
                queue.append(child)
    return size, tensors


def size_in_bytes(thing: Any) -> int:
    """What the object itself takes, by the method of the built-in type that it is made of."""
    for kind in (list, tuple, dict, set, frozenset, str, bytes, bytearray, int, float, collections.deque):
        if is_a(thing, kind):
            return int(kind.__sizeof__(thing)) + (_HEADER if gc.is_tracked(thing) else 0)
    if named(type(thing)) == "ndarray" and own(type(thing)).get("nbytes") is not None:
        return int(own(type(thing))["nbytes"].__get__(thing)) + 112
    return int(type.__dict__["__basicsize__"].__get__(type(thing))) + (_HEADER if gc.is_tracked(thing) else 0)
