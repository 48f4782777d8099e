"""Edges named as a person would: from a chain of objects to ``history: list > [*] > ['loss']``."""

from __future__ import annotations

import logging
import threading
import types
from collections.abc import Sequence
from typing import Any

from harness.model.holding import Link
from harness.retainers.naming import NAMERS, PLAIN_CONTAINERS, Edge, global_edge
from harness.retainers.roots import Root
from harness.retainers.safely import instance_dict, is_a, is_class, is_exactly, named, printable, qualified, shown_key
from harness.retainers.traits import trait_of

__all__ = ["links_of"]

_NAMESPACES = ("module ", "sys", "builtins")


def links_of(
    root: Root, chain: Sequence[Any], open_keys: set[int], *, ends_here: bool = True
) -> tuple[tuple[Link, ...], list[int]]:
    """The links along *chain* (its first object is the root's), and for each the identity of what it leads to.

    Keys of the containers whose identities are in *open_keys* are left open (``[*]``): they differ from step to step.
    Without *ends_here* the way goes on from the last object, outside Python's references.
    """
    links: list[Link] = []
    ends: list[int] = []
    at = 0
    while at + 1 < len(chain):
        edge = _edge(root, chain, at, open_keys)
        end = chain[at + edge.used]
        last = ends_here and at + edge.used + 1 == len(chain)
        links.append(_link(edge, end, last=last))
        ends.append(id(end))
        at += edge.used
    return tuple(links), ends


def _link(edge: Edge, end: Any, *, last: bool) -> Link:
    suffix = "" if last and not is_a(end, *PLAIN_CONTAINERS) else _described(end, item=edge.item)
    text = f"{edge.name}: {suffix}" if suffix else edge.name
    return Link(text=text, name=edge.name, kind=qualified(type(end)), trait=edge.trait or trait_of(end), cut=edge.cut)


def _described(thing: Any, *, item: bool) -> str:
    """The type, and the name of what has one of its own; nothing for plain containers inside containers."""
    kind = type(thing)
    if item and is_exactly(thing, *PLAIN_CONTAINERS):
        return ""
    if is_a(thing, logging.Logger, threading.Thread):
        name = (instance_dict(thing) or {}).get("name", (instance_dict(thing) or {}).get("_name"))
        return f"{named(kind)} {shown_key(name)}" if type(name) is str else named(kind)
    if kind is types.FunctionType:
        return f"function {printable(thing.__qualname__)}"
    if is_exactly(thing, types.CellType, types.TracebackType, types.FrameType) or is_class(thing):
        return ""
    if trait_of(thing) == "tensor":
        return ""
    return named(kind)


def _edge(root: Root, chain: Sequence[Any], at: int, open_keys: set[int]) -> Edge:
    parent, child = chain[at], chain[at + 1]
    if at == 0 and root.kind in ("module", "library", "interpreter") and root.text.startswith(_NAMESPACES):
        return global_edge(parent, child)
    for namer in NAMERS:
        edge = namer(chain, at, open_keys)
        if edge is not None:
            return edge
    return Edge(f"({named(type(parent))})")
