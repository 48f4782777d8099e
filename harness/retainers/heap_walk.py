"""One walk over all objects: in C where the extension was built, else in Python with the collector's own eyes."""

from __future__ import annotations

import gc
import types
from collections import deque
from typing import Any, Protocol

from harness.retainers.safely import is_class, mro_of

_native: Any
try:
    from harness.retainers import _heapwalk as _native
except ImportError:  # installed without a compiler
    _native = None

__all__ = ["Path", "PythonSizes", "PythonWalk", "Sizes", "Walk", "is_native", "measure", "size_of", "walk"]

Path = tuple[int, list[Any], list[Any], int]
"""Root's number, the first objects of the way, the last ones (where not all are shown), how many lie between."""

_SHOWN_ENDS = 48
_PLAIN = frozenset(map(id, (str, int, float, bytes, bool, complex, type(None))))
"""By identity, here and below: a class may have a metaclass that raises when it is hashed or compared."""
_CANNOT_GROW = frozenset(
    map(
        id,
        (
            tuple,
            types.FunctionType,
            types.BuiltinFunctionType,
            types.MethodType,
            types.CellType,
            types.CodeType,
            types.ModuleType,
            types.FrameType,
            types.GeneratorType,
            types.CoroutineType,
        ),
    )
)


class Sizes(Protocol):
    """The sizes of containers at one moment."""

    @property
    def objects(self) -> int: ...


class Walk(Protocol):
    """What one walk met, with the shortest way to each object from the first root that leads to it."""

    def instances(self, kind: type, /) -> list[Any]:
        """The objects that are of this type or of one below it."""

    def path(self, thing: object, /) -> Path | None:
        """The way to *thing*; None if it was not met."""

    def root_of(self, thing: object, /) -> int | None:
        """The number of the root that *thing* was reached from; None if it was not met."""

    def enter(self, roots: list[Any], first_root: int, /) -> int:
        """Go on from more roots, numbered from *first_root*; how many objects that added."""

    def close(self) -> None:
        """Let go of everything that was met. What was met may lead back to the walk, so that nothing else frees it."""

    def sizes(self) -> Sizes:
        """The sizes of all containers now."""

    def grown(self, before: Any, least: int, /) -> list[tuple[Any, int, int]]:
        """(container, size then, size now) of those that grew by *least* or more."""

    def types(self, before: Any = None, least: int = 1, /) -> list[tuple[type, int, int]]:
        """(type, objects then, objects now) of those that grew in number by *least* or more."""

    def __len__(self) -> int: ...

    def __contains__(self, thing: object, /) -> bool: ...


def is_native() -> bool:
    """Whether the walk runs in C."""
    return _native is not None


def walk(phases: list[list[Any]], skipped: list[Any]) -> Walk:
    """Walk from *phases* of roots, each only to what the ones before did not reach. Objects in *skipped*, and roots
    other than as roots, are not passed through; classes wait until the end."""
    ours = [*skipped, phases, *phases, skipped]
    if _native is not None:
        found: Walk = _native.walk(phases, ours)
        return found
    return PythonWalk(phases, ours)


def measure(phases: list[list[Any]], skipped: list[Any]) -> Sizes:
    """Only the sizes, for a later walk to be compared with. In C, no reference count is touched for it."""
    ours = [*skipped, phases, *phases, skipped]
    if _native is not None:
        sizes: Sizes = _native.measure(phases, ours)
        return sizes
    return PythonWalk(phases, ours).sizes()


def size_of(container: object) -> int:
    """How many elements a container has; of anything else, how many objects it leads to."""
    if _native is not None:
        return int(_native.size(container))
    kinds: tuple[Any, ...] = (list, tuple, dict, set, frozenset, bytearray)
    for kind in kinds:
        if any(base is kind for base in mro_of(type(container))):
            return int(kind.__len__(container))
    return len(gc.get_referents(container))


class PythonSizes:
    """Sizes by address and type, and how many objects of each type."""

    def __init__(self, containers: dict[tuple[int, int], int], types: dict[int, int], objects: int) -> None:
        self.containers = containers
        self.types = types
        self.objects = objects


class PythonWalk:
    """The same walk in Python: some ten times slower, and it creates a list for every object that it opens."""

    def __init__(self, phases: list[list[Any]], skipped: list[Any]) -> None:
        self._objects: list[Any] = []
        self._parents: list[int] = []
        self._places: dict[int, int] = {}
        self._skipped = skipped
        self._reserved = {id(o) for o in skipped} | {id(o) for phase in phases for o in phase}
        self._reserved.add(id(self))  # what is held by a walk is no part of the program
        self._later: deque[int] = deque()
        first = 0
        for phase in phases:
            self._run(phase, first)
            first += len(phase)
        self._run_later()

    def _enter(self, thing: Any, parent: int) -> int | None:
        if id(type(thing)) in _PLAIN or id(thing) in self._places or id(thing) in self._reserved:
            return None
        number = self._places[id(thing)] = len(self._objects)
        self._objects.append(thing)
        self._parents.append(parent)
        return number

    def _run(self, roots: list[Any], first_root: int, *, defer: bool = True) -> None:
        first = len(self._objects)
        for k, root in enumerate(roots):
            self._reserved.discard(id(root))
            self._enter(root, -1 - (first_root + k))
        self._open_from(first, defer=defer)

    def _open_from(self, first: int, *, defer: bool) -> None:
        number = first
        while number < len(self._objects):
            thing = self._objects[number]
            if defer and self._parents[number] >= 0 and is_class(thing):
                self._later.append(number)
            else:
                self._open(number)
            number += 1

    def _open(self, number: int) -> None:
        for child in gc.get_referents(self._objects[number]):
            self._enter(child, number)

    def _run_later(self) -> None:
        first = len(self._objects)
        while self._later:
            self._open(self._later.popleft())
        self._open_from(first, defer=False)

    def enter(self, roots: list[Any], first_root: int, /) -> int:
        before = len(self._objects)
        self._run(roots, first_root)
        self._run_later()
        return len(self._objects) - before

    def instances(self, kind: type, /) -> list[Any]:
        return [o for o in self._objects if any(base is kind for base in mro_of(type(o)))]

    def path(self, thing: object, /) -> Path | None:
        at = self._places.get(id(thing))
        if at is None:
            return None
        chain = []
        while at >= 0:
            chain.append(self._objects[at])
            at = self._parents[at]
        chain.reverse()
        if len(chain) <= 2 * _SHOWN_ENDS:
            return -1 - at, chain, [], 0
        between = len(chain) - 2 * _SHOWN_ENDS
        return -1 - at, chain[:_SHOWN_ENDS], chain[-_SHOWN_ENDS:], between

    def root_of(self, thing: object, /) -> int | None:
        at = self._places.get(id(thing))
        if at is None:
            return None
        while at >= 0:
            at = self._parents[at]
        return -1 - at

    def close(self) -> None:
        self._objects.clear()
        self._parents.clear()
        self._places.clear()

    def sizes(self) -> PythonSizes:
        counts: dict[int, int] = {}
        for thing in self._objects:
            counts[id(type(thing))] = counts.get(id(type(thing)), 0) + 1
        sizes = {(id(o), id(type(o))): size_of(o) for o in self._objects if self._can_grow(o)}
        return PythonSizes(sizes, counts, len(self._objects))

    @staticmethod
    def _can_grow(thing: object) -> bool:
        return id(type(thing)) not in _CANNOT_GROW and not is_class(thing)

    def grown(self, before: PythonSizes, least: int, /) -> list[tuple[Any, int, int]]:
        found = []
        for thing in self._objects:
            then = before.containers.get((id(thing), id(type(thing))))
            if then is not None and self._can_grow(thing) and (now := size_of(thing)) >= then + least:
                found.append((thing, then, now))
        return found

    def types(self, before: PythonSizes | None = None, least: int = 1, /) -> list[tuple[type, int, int]]:
        kinds = {id(type(o)): type(o) for o in self._objects}
        now = self.sizes().types
        then = before.types if before is not None else {}
        return [(kinds[k], then.get(k, 0), count) for k, count in now.items() if count - then.get(k, 0) >= least]

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, thing: object, /) -> bool:
        return id(thing) in self._places
