"""Which of the ways and containers that were found belongs to which suspect."""

from __future__ import annotations

from harness.model.holding import GrownContainer, HeldRecord, HolderPath
from harness.model.report import HeldBy
from harness.model.verdict import Suspect, Verdict

__all__ = [
    "COMPILERS",
    "LEAST_COMPILED_RATE",
    "chosen_container",
    "chosen_path",
    "compiled_rate",
    "is_per_thread",
    "told",
]

_OBJECTS = ("heap.used", "python.bytes", "python.blocks", "rss.anon", "mapped.private", "graph.nodes")
COMPILERS = (
    "module torch._dynamo",
    "module torch._inductor",
    "module torch.fx",
    "module torch.jit",
    "module torch._functorch",
    "module torch._sources",
    "module linecache",
)
"""Whose tables keep what was compiled."""

LEAST_COMPILED_RATE = 0.05
"""New ones a step: one in twenty steps is no longer the warm-up of a few shapes."""

_COUNTS = ("threads", "fds", "children.count")
_SHARED = ("shm.bytes", "rss.shared")

_LEAST_SHARE_OF_COUNT = 0.3
"""A container that holds what is counted gains about one element for each; two in some programs."""

_PLAIN_DATA = ("int", "float", "str", "bool", "NoneType", "bytes", "complex", "tuple", "list", "dict", "set", "byte",
               "character", "ReferenceType", "weakref.ReferenceType", "weakref.KeyedRef")  # fmt: skip
_LEAST_OPAQUE = 0.1
"""Objects a step: a buffer or a handle may have any number of bytes behind it."""

_LEAST_SHARE_OF_BYTES = 0.02
"""Of the growth: an element's size is guessed, and what C code hangs on it cannot be seen at all."""


def chosen_container(suspect: Suspect, held: HeldRecord, verdict: Verdict) -> GrownContainer | None:
    """For survivors, the container on their way; for what is counted, one that gains as many elements; for heap and
    objects, the one that gains most bytes and is not a tensor's suspect already."""
    if suspect.site is not None and held.sites.get(suspect.site.site):
        path = held.sites[suspect.site.site][0]
        return next((c for c in held.containers if _is_on(c, path)), None)
    if suspect.metric in _COUNTS:
        least = _LEAST_SHARE_OF_COUNT * suspect.growth.per_step
        able = (
            c
            for c in held.containers
            if c.per_step >= least and c.element != "torch.Tensor" and not is_per_thread(c.path)
        )
        enough = sorted(able, key=lambda c: not c.grown_at)
        return next((c for c in enough if _is_users(c.path)), next(iter(enough), None))
    if suspect.metric in _SHARED:
        with_tensors = (c for c in held.containers if c.element_tensors)
        return next(with_tensors, next((c for c in held.containers if _is_users(c.path)), None))
    if suspect.metric in _OBJECTS:
        graph = _graph(held, verdict)
        if graph is not None:
            return next((c for c in held.containers if _is_on(c, graph)), None)
        taken = [
            held.sites[s.site.site][0] for s in verdict.suspects if s.site is not None and held.sites.get(s.site.site)
        ]
        free = [c for c in held.containers if not any(_is_on(c, path) for path in taken)]
        compiled = compiled_container(held)
        if compiled is not None:
            return compiled
        least = _LEAST_SHARE_OF_BYTES * suspect.growth.per_step
        large = [c for c in free if c.bytes_per_step >= least or c.element_tensors or _is_opaque(c)]
        return next((c for c in large if _is_users(c.path)), next(iter(large), None))
    return None


def chosen_path(
    suspect: Suspect, held: HeldRecord, container: GrownContainer | None, verdict: Verdict
) -> HolderPath | None:
    """The way that is told: to the site's survivors; else to what holds most autograd nodes, where these grow; else to
    the container."""
    if suspect.site is not None:
        ways = held.sites.get(suspect.site.site, ())
        if ways:
            return ways[0]
    if suspect.metric == "threads" and (container is None or not _is_users(container.path)):
        frames = (p for ways in held.sites.values() for p in ways if p.root.startswith("thread "))
        blocked = next(frames, None)
        if blocked is not None:
            return blocked
    if suspect.metric in _OBJECTS and (graph := _graph(held, verdict)) is not None:
        return graph
    if container is not None:
        return container.path
    native = suspect.metric in ("heap.used", "mapped.private", "rss.anon")
    return held.profilers[0] if native and held.profilers else None


def _graph(held: HeldRecord, verdict: Verdict) -> HolderPath | None:
    """What holds most autograd nodes, where their number grows."""
    growth = verdict.growth.get("graph.nodes")
    return held.graphs[0] if held.graphs and growth is not None and growth.trend == "growing" else None


def _is_opaque(container: GrownContainer) -> bool:
    """Whether its elements may have memory that cannot be seen from Python: not so for plain data."""
    return bool(container.element) and container.element not in _PLAIN_DATA and container.per_step >= _LEAST_OPAQUE


def compiled_container(held: HeldRecord) -> GrownContainer | None:
    """A compiler's own table, where its counts grow and no container of the program's own gains what it makes."""
    if compiled_rate(held)[1] < LEAST_COMPILED_RATE:
        return None
    if any(_is_users(c.path) and c.element.startswith(("torch.", "torch._")) for c in held.containers):
        return None
    tables = [c for c in held.containers if c.path.root.startswith(COMPILERS)]
    return next((c for c in tables if c.grown_at), next(iter(tables), None))


def compiled_rate(held: HeldRecord) -> tuple[str, float]:
    """The compiler's count that grows fastest, and by how much a step."""
    rates = {
        name: (now - then) / max(1, held.steps)
        for name, (then, now) in held.registries.items()
        if name.startswith(("TorchScript", "dynamo"))
    }
    name = max(rates, key=lambda n: rates[n], default="")
    return name, rates.get(name, 0.0)


def is_per_thread(path: HolderPath) -> bool:
    """Whether growth enters where a threading.local keeps one dictionary for each thread: it grows by new threads, and
    never by another call in the same one."""
    return bool(path.suspect) and path.links[(path.suspect or 0) - 1].kind.endswith("_local")


def _is_users(path: HolderPath) -> bool:
    return path.root_kind in ("module", "class", "local", "thread")


def _is_on(container: GrownContainer, path: HolderPath) -> bool:
    """Whether the container lies at the suspect of *path*."""
    if path.suspect is None or container.path.root != path.root:
        return False
    names = [_open(link.name) for link in path.links[: path.suspect + 1]]
    return [_open(link.name) for link in container.path.links] == names


def _open(name: str) -> str:
    return "[*]" if name.startswith("[") else name


def told(path: HolderPath) -> HeldBy:
    """The way as the report tells it."""
    return HeldBy(
        text=path.text,
        root=path.root,
        links=tuple(link.text for link in path.links),
        suspect=path.links[path.suspect].name if path.suspect is not None and path.links else None,
    )
