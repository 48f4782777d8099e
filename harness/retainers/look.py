"""The whole look at who holds what: sizes early, everything else once at the end, in the measured process."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

from harness.model.holding import GrownType, HeldRecord, HolderPath
from harness.retainers import heap_walk
from harness.retainers.containers import grown_groups
from harness.retainers.graph import Graph
from harness.retainers.paths import Paths, grouped
from harness.retainers.reach import Reach
from harness.retainers.registries import read_registries
from harness.retainers.roots import gather_roots
from harness.retainers.safely import own, qualified
from harness.retainers.survivors import Wanted, ways_by_site
from harness.retainers.traits import trait_of
from harness.retainers.values import grown_values, value_sizes
from harness.retainers.watching import RunSteps, Watched, names_bound, with_lines

__all__ = ["Look", "Wanted"]

_MOST_TYPES = 24


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
        self._values: dict[tuple[str, str], int] = {}
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
        self._values = value_sizes(roots.flat)
        self._measured_at = step

    def look(self, survivors: Sequence[Wanted], *, step: int, run_steps: RunSteps | None) -> HeldRecord:
        """Who holds *survivors*, and what grew since :meth:`measure`. With *run_steps* the program then goes on for a
        little, so that the lines are seen at which it grows."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            record, watched = self._looked(survivors, step)
        finally:
            if was_enabled:
                gc.enable()
        return record if run_steps is None else with_lines(record, watched, run_steps, self._is_users)

    def _keeper_of_callbacks(self) -> str:
        now = read_registries().get("atexit callbacks", 0)
        more = now - self._registries.get("atexit callbacks", now)
        return f"atexit ({now:,} callbacks)" if more > 1 else "C code that keeps callbacks"

    def _looked(self, survivors: Sequence[Wanted], step: int) -> tuple[HeldRecord, Watched]:
        steps = max(1, step - self._measured_at)
        least = max(2, steps // 64)
        wanted = {one.key: one for one in survivors}
        roots = gather_roots(self._is_users)
        walk = heap_walk.walk(roots.phases, roots.skipped)
        found = Reach(walk, roots.flat, Graph(self._key_of), self._key_of, set(wanted))
        grown_types = walk.types(self._before, least) if self._before is not None else []
        found.complete(self._keeper_of_callbacks(), self._collects)
        grown = walk.grown(self._before, least) if self._before is not None else []
        grown = _with_cache_sizes([one for one in grown if is_told(one[0])])
        paths = Paths(walk, found.roots, found.graph, {id(c): (then, now) for c, then, now in grown})
        sites, unheld = ways_by_site(survivors, found, paths)
        groups = grown_groups(grown, paths, steps=steps)
        graphs = _graph_paths(found, paths)
        values = tuple(grown_values(self._values, roots.flat, steps=steps, least=max(64, steps)))
        record = HeldRecord(
            steps=steps,
            objects=len(walk),
            sites=sites,
            unheld=unheld,
            containers=(*(group.told for group in groups), *values),
            types=tuple(GrownType(name=qualified(kind), then=then, now=now) for kind, then, now in _most(grown_types)),
            nodes=found.graph.bytes_by_node(),
            graphs=graphs,
            profilers=_running_profilers(walk, paths),
            registries={k: (self._registries.get(k, 0), now) for k, now in read_registries().items()},
        )
        watched = Watched(
            groups=groups,
            names=names_bound([*sites.values(), graphs], values, found.roots),
            gradients=paths.with_gradients,
        )
        found.close()
        return record, watched


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


def _graph_paths(found: Reach, paths: Paths) -> tuple[HolderPath, ...]:
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
