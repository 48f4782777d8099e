"""What is watched while the program goes on: containers, names, gradients and counts, for the lines that move them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

import msgspec

from harness.model.allocation import Frame
from harness.model.holding import GrownContainer, HeldRecord, HolderPath
from harness.retainers.containers import Group
from harness.retainers.graph import tensor_getters
from harness.retainers.growing_lines import State, lines_where, size_watch
from harness.retainers.heap_walk import size_of
from harness.retainers.registries import read_registry
from harness.retainers.roots import Root

__all__ = ["RunSteps", "Watched", "names_bound", "with_lines"]

_MOST_WATCHED = 8
_MOST_STEPS = 200
_MOST_S = 3.0

RunSteps = Callable[[Callable[[], bool], int], None]
"""Runs up to so many more steps of the program, until its first argument says that it is enough."""


class Watched(msgspec.Struct, kw_only=True):
    """The groups of growing containers; names, with the namespaces that they are bound in; tensors whose gradients
    hold a graph."""

    groups: list[Group]
    names: dict[str, dict[str, Any]]
    gradients: list[Any]


def names_bound(
    ways: Iterable[Sequence[HolderPath]], values: Iterable[GrownContainer], roots: list[Root]
) -> dict[str, dict[str, Any]]:
    """The names that paths without a growing container begin with, those of growing texts, and the modules' namespaces
    that they are in."""
    modules = {root.text: root.thing for root in roots if root.kind == "module"}
    found: dict[str, dict[str, Any]] = {}
    for way in ways:
        path = way[0] if way else None
        if path is None or path.grew is not None or not path.links or path.root not in modules:
            continue
        if path.links[0].cut is not None:
            found[str(path.links[0].cut.name)] = modules[path.root]
    for value in values:
        found[value.path.links[0].name] = modules[value.path.root]
    return found


def with_lines(
    record: HeldRecord, watched: Watched, run_steps: RunSteps, is_users: Callable[[str], bool]
) -> HeldRecord:
    """*record* with the lines at which its containers grow and its names are bound, seen over some more steps."""
    # A thread that runs already cannot be traced from here.
    groups = [group for group in watched.groups if not group.told.path.root.startswith("thread ")][:_MOST_WATCHED]
    gradients = watched.gradients[:_MOST_WATCHED]
    counts = [name for name, (then, now) in record.registries.items() if now - then >= max(2, record.steps // 64)]
    states: list[State] = [size_watch(group.containers[-4:], size_of) for group in groups]
    states += [_binding_watch(namespace, name) for name, namespace in watched.names.items()]
    states += [_count_watch(name) for name in counts]
    states += [_gradient_watch(gradients)] if gradients else []
    if not states:
        return record
    slowest = min((group.told.per_step for group in groups), default=1.0)
    most_steps = max(4, min(_MOST_STEPS, int(4 / max(slowest, 0.02))))
    lines = lines_where(states, lambda is_done: run_steps(is_done, most_steps), is_users, most_s=_MOST_S)
    at = {id(group): lines[k] for k, group in enumerate(groups)}
    told = (
        tuple(
            msgspec.structs.replace(group.told, grown_at=_credible(group, at.get(id(group), ()), is_users))
            for group in watched.groups
        )
        + record.containers[len(watched.groups) :]
    )
    named = (*watched.names, *counts, *(("grad",) if gradients else ()))
    bound = {name: lines[len(groups) + k] for k, name in enumerate(named) if lines[len(groups) + k]}
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
