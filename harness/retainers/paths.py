"""From an object to the way that leads to it, in words; and which of its links growth enters at."""

from __future__ import annotations

import collections
import itertools
import types
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from harness.model.holding import HolderPath, Link
from harness.retainers.cycles import way_round
from harness.retainers.edges import links_of
from harness.retainers.graph import Graph
from harness.retainers.heap_walk import Walk
from harness.retainers.roots import Root
from harness.retainers.safely import instance_dict, is_a, named, qualified
from harness.retainers.traits import trait_of

__all__ = ["Paths", "grouped"]

_MOST_DETOURS = 8
_MIDST = Root(kind="library", text="...", thing=None)
"""Where the end of a long way is taken up again: at no root."""

_MOST_GROUPS = 3
_NO_BOUND = -1
_LEAST_MODULES = 8


_Way = tuple[Root, list[Link], list[int], dict[int, int]]
"""A root, the links from it, the identities of what they lead to, and the bounds of the containers among these."""


class Paths:
    """Ways through one walk and one graph. *grown* maps the identity of a container that gains elements to its size
    (then, now)."""

    def __init__(self, walk: Walk, roots: Sequence[Root], graph: Graph, grown: dict[int, tuple[int, int]]) -> None:
        self._walk, self._roots, self._graph, self._grown = walk, roots, graph, grown
        self._open = set(grown)
        self._cycles: dict[int, Root] = {}
        self.with_gradients: list[Any] = []
        """Tensors whose gradient a way was found to lead through."""

    def to_object(self, thing: Any) -> HolderPath | None:
        """The way to a Python object that was met."""
        found = self._way(thing, _MOST_DETOURS)
        return None if found is None else self._path(*found)

    def to_saved(self, key: int) -> HolderPath | None:
        """The way to a storage that an autograd node saved."""
        saved = self._graph.saved(key)
        if saved is None:
            return None
        node, name = saved
        origin, nodes = self._graph.way_to(node)
        found = self._way(origin, _MOST_DETOURS, ends_here=False)
        if found is None:
            return None
        root, links, ends, bound = found
        kinds = [named(type(n)) for n in nodes]
        if origin is not nodes[0]:
            links.append(Link(text=f"grad_fn: {kinds[0]}", name="grad_fn", kind=kinds[0], trait="node"))
            ends.append(id(nodes[0]))
        if len(nodes) > 2:
            between = len(nodes) - 2
            more = f"{between:,} more nodes" if between > 1 else kinds[1]
            links.append(Link(text=more, name="next_functions", kind="nodes", trait="node"))
            ends.append(0)
        what = "variable" if name == "variable" else f"saved {name}"
        text = f"{kinds[-1]}.{what}" if len(nodes) > 1 else what
        links.append(Link(text=text, name=what, kind=kinds[-1], trait="node"))
        ends.append(0)
        return self._path(root, links, ends, bound)

    def to_graph(self, origin: Any, nodes: int) -> HolderPath | None:
        """The way to an object that a graph of *nodes* nodes hangs on."""
        found = self._way(origin, _MOST_DETOURS, ends_here=False)
        if found is None:
            return None
        root, links, ends, bounds = found
        links.append(Link(text=f"grad_fn: {nodes:,} nodes", name="grad_fn", kind="nodes", trait="node"))
        return msgspec.structs.replace(self._path(root, links, [*ends, 0], bounds), storages=nodes)

    def root_number(self, thing: Any) -> int:
        """The number of the root that leads to *thing*: a lower one is easier to understand."""
        number = self._walk.root_of(thing)
        return len(self._roots) if number is None else number

    def _way(self, thing: Any, detours: int, *, ends_here: bool = True) -> _Way | None:
        found = self._walk.path(thing)
        if found is None or detours == 0:
            return None
        number, first, last, between = found
        root = self._roots[number]
        begun = self._begin(root, detours)
        if begun is None:
            return None
        top, links, ends, bounds = begun
        more, identities = links_of(root, first, self._open, ends_here=ends_here and not last)
        links += more
        ends += identities
        if last:
            links.append(Link(text=f"{between + 1:,} more", name="...", kind=""))
            ends.append(0)
            more, identities = links_of(_MIDST, last, self._open, ends_here=ends_here)
            links += more
            ends += identities
        bounds |= {id(o): bound for o in (*first, *last) if (bound := _bound_of(o)) is not None}
        for owner, table in itertools.pairwise(first):  # a cache's elements lie in a dict of its own
            if trait_of(owner) == "cache" and id(owner) in bounds:
                bounds[id(table)] = bounds[id(owner)]
        return top, links, ends, bounds

    def _begin(self, root: Root, detours: int) -> _Way | None:
        if root.kind == "cycle":
            root = self._with_way_round(root)
        if root.origin is None:
            links = [_link_of_root(root)] if root.name else []
            return root, links, [id(root.thing)] * len(links), {}
        if root.via == "node":
            owner, nodes = self._graph.way_to(root.origin)
            found = self._way(owner, detours - 1, ends_here=False)
            if found is None:
                return None
            text = f"grad_fn: {named(type(nodes[-1]))}" if len(nodes) < 3 else f"grad_fn: {len(nodes):,} nodes"
            link = Link(text=text, name="grad_fn", kind=named(type(root.thing)), trait="node")
        else:
            found = self._way(root.origin, detours - 1, ends_here=False)
            if found is None:
                return None
            if root.via == "grad" and not any(one is root.origin for one in self.with_gradients):
                self.with_gradients.append(root.origin)
            link = Link(text=root.via, name=root.via, kind=named(type(root.thing)), trait=trait_of(root.thing))
        top, links, ends, bounds = found
        return top, [*links, link], [*ends, id(root.thing)], bounds

    def _with_way_round(self, root: Root) -> Root:
        if id(root.thing) not in self._cycles:
            self._cycles[id(root.thing)] = msgspec.structs.replace(root, text=f"{root.text}{way_round(root.thing)}")
        return self._cycles[id(root.thing)]

    def _path(self, root: Root, links: list[Link], ends: list[int], bounds: dict[int, int]) -> HolderPath:
        links, ends = _past_our_own(links, ends)
        candidates = [k for k, end in enumerate(ends) if end in self._grown]
        suspect = max(candidates, key=lambda k: self._rank(links, ends, k), default=None)
        kept, suspect_now = _shortened(links, suspect)
        return HolderPath(
            root=root.text,
            root_kind=root.kind,
            links=kept,
            suspect=suspect_now,
            grew=self._grown[ends[suspect]] if suspect is not None else None,
            bound=_known(bounds.get(ends[suspect])) if suspect is not None else None,
            unbounded=suspect is not None and bounds.get(ends[suspect]) == _NO_BOUND,
        )

    def _rank(self, links: Sequence[Link], ends: Sequence[int], k: int) -> tuple[int, int]:
        """What gains most comes first; of equals the outermost, but a cache's dictionary before the cache."""
        then, now = self._grown[ends[k]]
        return now - then, k if _is_cache(links[k - 1 : k]) else -k


def _link_of_root(root: Root) -> Link:
    kind = named(type(root.thing))
    tells = root.name.endswith(kind) or root.kind in ("cycle", "native", "surplus")
    text = root.name if tells or trait_of(root.thing) == "tensor" else f"{root.name}: {kind}"
    return Link(
        text=text, name=root.name.removeprefix("local "), kind=qualified(type(root.thing)), trait=trait_of(root.thing)
    )


def _past_our_own(links: list[Link], ends: list[int]) -> tuple[list[Link], list[int]]:
    """What lies inside an object of ours (a scope that was told to own a tensor) is nobody's business."""
    ours = next((k for k, link in enumerate(links) if link.kind.startswith("harness.")), None)
    if ours is None or ours + 1 >= len(links):
        return links, ends
    last = links[-1]
    owned = Link(text="owned", name="owned", kind=last.kind, trait=last.trait)
    return [*links[: ours + 1], owned], [*ends[: ours + 1], ends[-1]]


def _shortened(links: list[Link], suspect: int | None) -> tuple[tuple[Link, ...], int | None]:
    """Links that repeat (a chain of nodes, each holding the one before) become one."""
    kept: list[Link] = []
    for k, link in enumerate(links):
        repeated = (
            bool(kept)
            and k != suspect
            and (kept[-1].name, kept[-1].kind) == (link.name, link.kind)
            and link.name[0] != "["
        )
        if repeated and (suspect is None or k - 1 != suspect):
            before = kept[-1]
            if not before.text.endswith(" (repeated)"):
                kept[-1] = msgspec.structs.replace(before, text=f"{before.text} (repeated)", cut=None)
            if suspect is not None and k <= suspect:
                suspect -= 1
            continue
        kept.append(link)
    return tuple(kept), suspect


def _is_cache(before: Sequence[Link]) -> bool:
    return bool(before) and before[0].trait == "cache"


def _known(bound: int | None) -> int | None:
    return None if bound == _NO_BOUND else bound


def _bound_of(container: Any) -> int | None:
    """How many elements it takes at most, where it says so: deque's maxlen, lru_cache's maxsize."""
    if is_a(container, collections.deque):
        bound = collections.deque.maxlen.__get__(container)
        return bound if isinstance(bound, int) else _NO_BOUND
    if trait_of(container) == "cache":
        ask = (instance_dict(container) or {}).get("cache_parameters")
        if type(ask) is types.FunctionType and ask.__module__ == "functools":
            size = ask()["maxsize"]
            return size if isinstance(size, int) else _NO_BOUND
    return None


def grouped(paths: Iterable[HolderPath]) -> tuple[HolderPath, ...]:
    """Paths that read the same as one, those that hold most first; where no container was seen to grow, the last link
    that all of them share is the suspect."""
    groups: dict[tuple[str, ...], HolderPath] = {}
    for path in paths:
        key = (path.root, *(link.name for link in path.links))
        known = groups.get(key)
        groups[key] = path if known is None else _sum(known, path)
    ordered = _of_many_modules(sorted(groups.values(), key=lambda p: (-p.storages, len(p.links))))
    shared = _shared_links(ordered)
    return tuple(
        path
        if path.suspect is not None or not shared
        else msgspec.structs.replace(path, suspect=min(shared, len(path.links)) - 1)
        for path in ordered[:_MOST_GROUPS]
    )


def _of_many_modules(paths: list[HolderPath]) -> list[HolderPath]:
    """Modules of ever new names that hold the same are what grows: they are in sys.modules."""
    alike: dict[tuple[str, ...], list[HolderPath]] = {}
    for path in paths:
        if path.root_kind in ("library", "module") and path.root.startswith("module "):
            alike.setdefault(tuple(link.name for link in path.links), []).append(path)
    many = max(alike.values(), key=len, default=[])
    if len({path.root for path in many}) < _LEAST_MODULES:
        return paths
    together = many[0]
    for path in many[1:]:
        together = _sum(together, path)
    module = Link(text="[*]: module", name="[*]", kind="module")
    told = msgspec.structs.replace(
        together, root="sys.modules", root_kind="interpreter", links=(module, *together.links), suspect=0
    )
    return [told, *(path for path in paths if path not in many)]


def _sum(one: HolderPath, other: HolderPath) -> HolderPath:
    visible = (one.visible_bytes or 0) + (other.visible_bytes or 0)
    return msgspec.structs.replace(
        one,
        storages=one.storages + other.storages,
        bytes=one.bytes + other.bytes,
        visible_bytes=None if one.visible_bytes is None and other.visible_bytes is None else visible,
    )


def _shared_links(paths: Sequence[HolderPath]) -> int:
    """How many links all *paths* begin with, up to where they enter a graph; one path alone shares the first."""
    if not paths or len({p.root for p in paths}) > 1:
        return 0
    if len(paths) == 1:
        links = paths[0].links
        return next((max(1, k) for k, link in enumerate(links) if link.trait == "node"), min(1, len(links)))
    count = 0
    for together in zip(*(p.links for p in paths), strict=False):
        if len({link.name for link in together}) > 1 or (count and together[0].trait == "node"):
            break
        count += 1
    return count
