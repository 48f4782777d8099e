"""Who holds what: the paths, containers and counts that a look at the subject's living objects gave."""

from __future__ import annotations

from typing import Literal

import msgspec

from harness.model.allocation import Frame

__all__ = [
    "Cut",
    "CutOrder",
    "GrownContainer",
    "GrownType",
    "HeldRecord",
    "HolderPath",
    "Link",
    "NodeBytes",
    "RootKind",
    "Trait",
]

RootKind = Literal["module", "class", "local", "thread", "interpreter", "library", "native", "cycle", "surplus", "ours"]
"""Where a path begins: a module of the program's own, one of its classes, a running frame, what a thread has of its
own, the interpreter (sys, builtins), a library's module; or nowhere that Python knows of: C or C++ code, a cycle that
nobody frees, a surplus reference count that nothing accounts for. (``ours`` is never told.)"""

Trait = Literal[
    "",
    "traceback",
    "frame",
    "generator",
    "coroutine",
    "task",
    "thread",
    "node",
    "hooks",
    "module_table",
    "optimizer",
    "cache",
    "compiled",
    "finalizer",
    "tensor",
    "array",
]
"""What a link leads to, where that matters for the cause."""


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the way to a container in another process of the same program: ``kind`` says how to go on from
    there, ``name`` where to."""

    kind: Literal["attribute", "key", "index"]
    name: str | int


class CutOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to cut in another process of the same program: the container that *way* leads to from *module*, or, where
    it is a binding, the graph behind the tensor that lies there. ``fingerprint`` is the finding's that it tests."""

    module: str
    way: tuple[Cut, ...]
    is_binding: bool
    fingerprint: str


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One edge of a path. ``text`` is the edge and what it leads to (``history: list``, ``[*]``), ``name`` the edge
    alone, ``kind`` the type that it leads to; ``cut`` is None where no other process can find its way along it."""

    text: str
    name: str
    kind: str
    trait: Trait = ""
    cut: Cut | None = None


class HolderPath(msgspec.Struct, frozen=True, kw_only=True):
    """The way from a root to what is held. ``storages`` and ``bytes`` are what the sampled survivors at its end have.

    ``suspect`` is the number of the link at which growth enters: it leads to the container that gains elements, which
    had ``grew[0]`` of them at first and ``grew[1]`` at last; without one, the last link that all paths share.
    ``bound`` is how many elements that container takes at most, where it says so; ``unbounded``: it says that it has
    no bound.
    ``visible_bytes`` is what the tensors at the end can be seen to have, of ``bytes`` in their storages.
    """

    root: str
    root_kind: RootKind
    links: tuple[Link, ...]
    suspect: int | None = None
    grew: tuple[int, int] | None = None
    bound: int | None = None
    unbounded: bool = False
    storages: int = 0
    bytes: int = 0
    visible_bytes: int | None = None

    def cut_order(self, fingerprint: str) -> CutOrder | None:
        """How to cut at the suspect in another process; None where that cannot be found again, or not be cut."""
        if self.suspect is None or self.root_kind not in ("module", "class"):
            return None
        links = self.links[: self.suspect + 1]
        way = tuple(link.cut for link in links if link.cut is not None)
        is_binding = self.grew is None
        if len(way) < len(links) or (is_binding and not any(k.trait == "node" for k in self.links[self.suspect + 1 :])):
            return None
        return CutOrder(
            module=self.root.removeprefix("module "), way=way, is_binding=is_binding, fingerprint=fingerprint
        )

    @property
    def text(self) -> str:
        """``module held_reference > history: list > [*]``."""
        return " > ".join((self.root, *(link.text for link in self.links)))


class GrownContainer(msgspec.Struct, frozen=True, kw_only=True):
    """Containers that gained elements between two looks *steps* steps apart, those of one path (with its keys left
    open) together: ``containers`` of them. ``element`` is the type of what was added last, ``element_bytes`` about what
    one element takes with what only it leads to; ``element_tensors`` how many tensors are among that.
    ``grown_at`` are the lines that were seen to add elements, innermost user frame first."""

    path: HolderPath
    size_then: int
    size_now: int
    steps: int
    containers: int = 1
    element: str = ""
    element_bytes: int = 0
    element_tensors: int = 0
    grown_at: tuple[Frame, ...] = ()

    @property
    def per_step(self) -> float:
        """Elements a step."""
        return (self.size_now - self.size_then) / max(1, self.steps)

    @property
    def bytes_per_step(self) -> float:
        """About what it grows by in bytes a step."""
        return self.per_step * self.element_bytes


class GrownType(msgspec.Struct, frozen=True, kw_only=True):
    """How many objects of one type there were then and now."""

    name: str
    then: int
    now: int


class NodeBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Autograd nodes of one kind that are held, and the bytes in the storages that they alone were seen to save."""

    name: str
    nodes: int
    bytes: int


class HeldRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, last, in the ledger's subject: paths by site, containers and types that grew over ``steps``
    steps, held autograd nodes, and counts that only libraries keep (``registries``: then and now). ``graphs`` are the
    ways to what holds most of those nodes; their ``storages`` is the number of nodes. ``profilers`` are the ways to
    torch profilers that are still running.

    ``unheld`` counts, by site, survivors to which no path was found; ``bound_at`` are the lines that bind the names
    that paths begin with, by name, where no container grows; and the lines at which registries grow, by theirs.
    ``failed`` says why there is nothing, where looking itself went wrong."""

    steps: int
    objects: int
    sites: dict[int, tuple[HolderPath, ...]] = {}
    unheld: dict[int, int] = {}
    containers: tuple[GrownContainer, ...] = ()
    types: tuple[GrownType, ...] = ()
    nodes: tuple[NodeBytes, ...] = ()
    graphs: tuple[HolderPath, ...] = ()
    profilers: tuple[HolderPath, ...] = ()
    registries: dict[str, tuple[int, int]] = {}
    bound_at: dict[str, tuple[Frame, ...]] = {}
    failed: str | None = None
