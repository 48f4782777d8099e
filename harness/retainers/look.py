"""The whole look at who holds what: sizes early, everything else once at the end, in the measured process."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

import msgspec

from harness.model.allocation import Frame
from harness.model.holding import GrownType, HeldRecord, HolderPath
from harness.retainers import heap_walk
from harness.retainers.containers import Group, grown_groups
from harness.retainers.edges import trait_of
from harness.retainers.graph import Graph, is_node_type, tensor_getters
from harness.retainers.growing_lines import State, lines_where, size_watch
from harness.retainers.paths import Paths, grouped
from harness.retainers.registries import read_registries, read_registry
from harness.retainers.roots import Root, gather_roots
from harness.retainers.safely import own, qualified
from harness.retainers.unreached import enter_unreached

__all__ = ["Look", "Wanted"]

_MOST_ROUNDS = 3
_MOST_TYPES = 24
_MOST_SAMPLED = 48
_MOST_WATCHED = 8


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One survivor that a holder is wanted for: its site, the ledger's key, its bytes."""

    site: int
    key: int
    bytes: int


class Look:
    """Looks at this process. *is_users* tells whether a source file is the program's own, *key_of* is the ledger's.

    :meth:`measure` notes how large every container is, and costs some tens of milliseconds; :meth:`look` compares with
    it. Neither runs the program's code; :meth:`look` lets the caller run more steps for the lines. *collects*: garbage
    was collected before each, so that what is left of it cannot be."""

    def __init__(self, *, is_users: Callable[[str], bool], key_of: Callable[[Any], int], collects: bool = True) -> None:
        self._is_users = is_users
        self._collects = collects
        self._key_of = key_of
        self._before: Any = None
        self._registries: dict[str, int] = {}
        self._measured_at = 0

    @property
    def has_measured(self) -> bool:
        """Whether there is something to compare with."""
        return self._before is not None

    def measure(self, step: int) -> None:
        """Note all sizes after *step* steps."""
        roots = gather_roots(self._is_users)
        self._before = heap_walk.measure(roots.phases, roots.skipped)
        self._registries = read_registries()
        self._measured_at = step

    def look(
        self, survivors: Sequence[Wanted], *, step: int, run_steps: Callable[[Callable[[], bool], int], None] | None
    ) -> HeldRecord:
        """Who holds *survivors*, and what grew since :meth:`measure`. *run_steps* runs up to so many more steps, until
        its first argument says that it is enough."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return self._looked(survivors, step, run_steps)
        finally:
            if was_enabled:
                gc.enable()

    def _keeper_of_callbacks(self) -> str:
        now = read_registries().get("atexit callbacks", 0)
        more = now - self._registries.get("atexit callbacks", now)
        return f"atexit ({now:,} callbacks)" if more > 1 else "C code that keeps callbacks"

    def _looked(
        self, survivors: Sequence[Wanted], step: int, run_steps: Callable[[Callable[[], bool], int], None] | None
    ) -> HeldRecord:
        steps = max(1, step - self._measured_at)
        least = max(2, steps // 64)
        wanted = {one.key: one for one in survivors}
        roots = gather_roots(self._is_users)
        walk = heap_walk.walk(roots.phases, roots.skipped)
        found = _Found(walk, roots.flat, Graph(self._key_of), self._key_of, set(wanted))
        grown_types = walk.types(self._before, least) if self._before is not None else []
        found.complete(self._keeper_of_callbacks(), self._collects)
        grown = walk.grown(self._before, least) if self._before is not None else []
        grown = _with_cache_sizes([one for one in grown if is_told(one[0])])
        paths = Paths(walk, found.roots, found.graph, {id(c): (then, now) for c, then, now in grown})
        sites, unheld = _by_site(survivors, found, paths)
        groups = grown_groups(grown, paths, steps=steps)
        graphs = _graph_paths(found, paths)
        record = HeldRecord(
            steps=steps,
            objects=len(walk),
            sites=sites,
            unheld=unheld,
            containers=tuple(group.told for group in groups),
            types=tuple(GrownType(name=qualified(kind), then=then, now=now) for kind, then, now in _most(grown_types)),
            nodes=found.graph.bytes_by_node(),
            graphs=graphs,
            profilers=_running_profilers(walk, paths),
            registries={k: (self._registries.get(k, 0), now) for k, now in read_registries().items()},
        )
        bindings = _bindings([*sites.values(), graphs], found.roots)
        gradients = paths.with_gradients[:_MOST_WATCHED]
        found.close()
        del walk, found, paths, roots, grown, grown_types
        return _with_lines(record, groups, bindings, gradients, run_steps, self._is_users)


def is_told(container: Any) -> bool:
    """Our own containers, and those of classes of ours, are no part of the program."""
    module = own(type(container)).get("__module__")
    return not (type(module) is str and module.partition(".")[0] == "harness")


def _with_cache_sizes(grown: list[tuple[Any, int, int]]) -> list[tuple[Any, int, int]]:
    """A cache leads to each of its elements three times: its dictionary says how many they are."""
    sizes = {id(one): (then, now) for one, then, now in grown}
    told = []
    for one, then, now in grown:
        if trait_of(one) == "cache":
            table = next((sizes[id(part)] for part in gc.get_referents(one) if id(part) in sizes), (then, now))
            told.append((one, *table))
        else:
            told.append((one, then, now))
    return told


def _most(types: list[tuple[type, int, int]]) -> list[tuple[type, int, int]]:
    told = [one for one in types if not (qualified(one[0]).startswith("harness."))]
    return sorted(told, key=lambda one: one[1] - one[2])[:_MOST_TYPES]


class _Found:
    """The walk together with what lies outside Python's references: graphs, gradients, arrays, the unreached."""

    def __init__(
        self, walk: heap_walk.Walk, roots: list[Root], graph: Graph, key_of: Callable[[Any], int], wanted: set[int]
    ) -> None:
        self.walk, self.roots, self.graph = walk, roots, graph
        self._key_of = key_of
        self._wanted = wanted
        self._seen: set[int] = set()
        self.tensors: dict[int, list[Any]] = {}

    def complete(self, callbacks: str, collected: bool) -> None:
        """Follow everything until nothing new is met; the unreached only once all else is known."""
        for _ in range(_MOST_ROUNDS):
            if not self._round():
                break
        enter_unreached(self.walk, self.roots, {id(self.tensors), id(self._seen)}, callbacks, collected)
        for _ in range(_MOST_ROUNDS):
            if not self._round():
                break

    def close(self) -> None:
        """Let go of everything: this object is itself among what the walk met."""
        self.walk.close()
        self.roots.clear()
        self.tensors.clear()
        del self.walk, self.graph

    def _round(self) -> int:
        import torch

        grad_fn_of, is_leaf, grad_of = tensor_getters()
        starts: list[tuple[Any, Any]] = []
        entered: list[Root] = []
        for tensor in self.walk.instances(torch._C.TensorBase):
            if id(tensor) in self._seen:
                continue
            self._seen.add(id(tensor))
            try:
                key = self._key_of(tensor)
                if key in self._wanted:
                    self.tensors.setdefault(key, []).append(tensor)
                if is_leaf(tensor):
                    gradient = grad_of(tensor)
                    if gradient is not None and gradient not in self.walk:
                        entered.append(Root(kind="library", text="", thing=gradient, origin=tensor, via="grad"))
                else:
                    starts.append((grad_fn_of(tensor), tensor))
            except (RuntimeError, NotImplementedError, TypeError):
                continue
        starts += self._nodes()
        custom = self.graph.enter(sorted(starts, key=lambda start: self._rank(start[1])))
        entered += [
            Root(kind="library", text="", thing=node, origin=node, via="node")
            for node in custom
            if node not in self.walk
        ]
        entered += self._array_elements()
        first = len(self.roots)
        self.roots += entered
        return self.walk.enter([root.thing for root in entered], first) if entered else 0

    def _rank(self, thing: Any) -> int:
        number = self.walk.root_of(thing)
        return len(self.roots) if number is None else number

    def _nodes(self) -> list[tuple[Any, Any]]:
        """Nodes that Python objects hold by themselves."""
        kinds = [kind for kind, _, _ in self.walk.types() if is_node_type(kind)]
        nodes = [node for kind in kinds for node in self.walk.instances(kind) if id(node) not in self._seen]
        self._seen.update(id(node) for node in nodes)
        return [(node, node) for node in nodes]

    def _array_elements(self) -> list[Root]:
        """numpy's arrays take no part in the collector's graph: what an array of objects holds is asked of it."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return []
        found = []
        for array in self.walk.instances(numpy.ndarray):
            if id(array) in self._seen:
                continue
            self._seen.add(id(array))
            base = numpy.ndarray.base.__get__(array)
            children = [] if base is None else [base]
            if numpy.ndarray.dtype.__get__(array).hasobject:
                children += numpy.ndarray.ravel(array).tolist()
            found += [
                Root(kind="library", text="", thing=child, origin=array, via="[*]" if child is not base else "base")
                for child in children
                if gc.is_tracked(child) and child not in self.walk
            ]
        return found


def _by_site(
    survivors: Sequence[Wanted], found: _Found, paths: Paths
) -> tuple[dict[int, tuple[HolderPath, ...]], dict[int, int]]:
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


def _path_to(one: Wanted, found: _Found, paths: Paths) -> HolderPath | None:
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


def _graph_paths(found: _Found, paths: Paths) -> tuple[HolderPath, ...]:
    """The ways to what holds most autograd nodes."""
    ways = []
    for origin, nodes in found.graph.owners():
        path = paths.to_graph(origin, nodes)
        if path is not None and path.root_kind != "ours":
            ways.append(path)
    return grouped(ways)


def _running_profilers(walk: heap_walk.Walk, paths: Paths) -> tuple[HolderPath, ...]:
    """Who has the profiler that is running: it keeps an event for each operator until it is stopped."""
    if not read_registries().get("running profilers"):
        return ()
    found = []
    for module, name in (("torch.profiler.profiler", "_KinetoProfile"), ("torch.autograd.profiler", "profile")):
        kind = getattr(sys.modules.get(module), name, None)
        found += [paths.to_object(one) for one in walk.instances(kind)] if kind is not None else []
    return grouped(path for path in found if path is not None and path.root_kind != "ours")


def _bindings(ways: Iterable[Sequence[HolderPath]], roots: list[Root]) -> dict[str, dict[str, Any]]:
    """The names that paths without a growing container begin with, and the modules' namespaces that they are in."""
    modules = {root.text: root.thing for root in roots if root.kind == "module"}
    found: dict[str, dict[str, Any]] = {}
    for way in ways:
        path = way[0] if way else None
        if path is None or path.grew is not None or not path.links or path.root not in modules:
            continue
        if path.links[0].cut is not None:
            found[str(path.links[0].cut.name)] = modules[path.root]
    return found


def _with_lines(
    record: HeldRecord,
    groups: list[Group],
    bindings: dict[str, dict[str, Any]],
    gradients: list[Any],
    run_steps: Callable[[Callable[[], bool], int], None] | None,
    is_users: Callable[[str], bool],
) -> HeldRecord:
    """*record* with the lines at which its containers grow and its names are bound, seen over some more steps."""
    # A thread that runs already cannot be traced from here.
    watched = [group for group in groups if not group.told.path.root.startswith("thread ")][:_MOST_WATCHED]
    counts = [name for name, (then, now) in record.registries.items() if now - then >= max(2, record.steps // 64)]
    if run_steps is None or not (watched or bindings or counts or gradients):
        return record
    slowest = min((group.told.per_step for group in watched), default=1.0)
    most_steps = max(4, min(200, int(4 / max(slowest, 0.02))))
    states: list[State] = [size_watch(group.containers[-4:], heap_walk.size_of) for group in watched]
    states += [_binding_watch(namespace, name) for name, namespace in bindings.items()]
    states += [_count_watch(name) for name in counts]
    states += [_gradient_watch(gradients)] if gradients else []
    began = time.monotonic()

    def run(is_done: Callable[[], bool]) -> None:
        assert run_steps is not None
        run_steps(lambda: is_done() or time.monotonic() - began > 3.0, most_steps)

    lines = lines_where(states, run, is_users)
    at = {id(group): lines[k] for k, group in enumerate(watched)}
    told = tuple(
        msgspec.structs.replace(group.told, grown_at=_credible(group, at.get(id(group), ()), is_users))
        for group in groups
    )
    named = (*bindings, *counts, *(("grad",) if gradients else ()))
    bound = {name: lines[len(watched) + k] for k, name in enumerate(named) if lines[len(watched) + k]}
    return msgspec.structs.replace(record, containers=told, bound_at=bound)


def _credible(group: Group, frames: tuple[Frame, ...], is_users: Callable[[str], bool]) -> tuple[Frame, ...]:
    """Where other threads of the program run, one of them may have added the element while this one was at another
    line: then the line must speak of the container."""
    others = (f for ident, f in sys._current_frames().items() if ident != threading.get_ident())
    if group.told.path.root_kind not in ("module", "class"):
        return frames
    if not frames or not any(_runs_users_code(frame, is_users) for frame in others):
        return frames
    names = [link.name.rpartition(".")[2] for link in group.told.path.links if not link.name.startswith("[")]
    return frames if any(name in (frames[0].source or "") for name in names) else ()


def _runs_users_code(frame: FrameType | None, is_users: Callable[[str], bool]) -> bool:
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _gradient_watch(tensors: list[Any]) -> State:
    """Counts how often the gradient of one of *tensors* became another tensor."""
    _, _, grad_of = tensor_getters()
    last: list[Any] = [[id(grad_of(one)) for one in tensors], 0]

    def state() -> int:
        now = [id(grad_of(one)) for one in tensors]
        if now != last[0]:
            last[0] = now
            last[1] += 1
        return int(last[1])

    return state


def _count_watch(name: str) -> State:
    """A registry's count, which may fail to be read (no descriptor is left) while the program runs."""
    last = 0

    def state() -> int:
        nonlocal last
        last = read_registry(name, otherwise=last)
        return last

    return state


def _binding_watch(namespace: dict[str, Any], name: str) -> State:
    """Counts how often the name was bound to another object."""
    last: list[int] = [id(namespace.get(name)), 0]

    def state() -> int:
        now = id(namespace.get(name))
        if now != last[0]:
            last[0] = now
            last[1] += 1
        return last[1]

    return state
