"""At which line of the program a container gains elements, or a name is bound anew: seen while it runs, not guessed."""

from __future__ import annotations

import linecache
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from harness.model.allocation import Frame

__all__ = ["lines_where", "size_watch"]

_MOST_FRAMES = 8
_CALLS_BETWEEN_LOOKS_AT_THE_CLOCK = 64

State = Callable[[], int]
"""A number that is larger (a size), or another one (an identity), after what is looked for has happened."""

_Place = tuple[str, int, str]


def lines_where(
    states: Sequence[State],
    run: Callable[[Callable[[], bool]], None],
    is_users: Callable[[str], bool],
    *,
    most_s: float = 3.0,
) -> list[tuple[Frame, ...]]:
    """For each of *states* the frames (innermost first) of the line at which it went up most often; empty where it
    never did. *run* runs the program, and may ask its argument whether all has been seen. After *most_s*
    seconds nothing is traced any more, also in the midst of a step: tracing slows some steps a hundredfold."""
    watch = _Watch(states, is_users, until=time.monotonic() + most_s)
    before, threads_before = sys.gettrace(), threading.gettrace()
    threading.settrace(watch.on_call)
    sys.settrace(watch.on_call)
    try:
        run(watch.is_done)
    finally:
        sys.settrace(before)
        threading.settrace(threads_before)
    return [watch.answer(k) for k in range(len(states))]


def size_watch(containers: Sequence[Any], size_of: Callable[[Any], int]) -> State:
    """The number of elements of *containers* together."""
    held = list(containers)
    return lambda: sum(size_of(one) for one in held)


class _Watch:
    def __init__(self, states: Sequence[State], is_users: Callable[[str], bool], *, until: float) -> None:
        self._until = until
        self._calls = 0
        self._states = list(states)
        self._is_users = is_users
        self._known: dict[str, bool] = {}
        self._now = [state() for state in states]
        self._seen: list[Counter[tuple[_Place, ...]]] = [Counter() for _ in states]
        self._last: dict[int, tuple[_Place, ...]] = {}
        self._latest: tuple[_Place, ...] = ()

    def is_done(self) -> bool:
        """Whether each was seen to go up twice, or the time is over."""
        return time.monotonic() > self._until or all(sum(seen.values()) >= 2 for seen in self._seen)

    def answer(self, number: int) -> tuple[Frame, ...]:
        """The frames for one of the states."""
        best = self._seen[number].most_common(1)
        return tuple(_frame(place) for place in best[0][0]) if best else ()

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Line events are wanted of the program's own code only; a library's work belongs to the line that calls it."""
        path = frame.f_code.co_filename
        users = self._known.get(path)
        if users is None:
            users = self._known[path] = self._is_users(path)
        if not users:
            self._calls += 1
            if self._calls % _CALLS_BETWEEN_LOOKS_AT_THE_CLOCK == 0 and time.monotonic() > self._until:
                sys.settrace(None)
            return None
        self._check()
        self._enter(frame)
        return self.on_line

    def on_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if time.monotonic() > self._until:
            sys.settrace(None)
            return None
        self._check()
        if event == "line":
            self._enter(frame)
        elif event == "return" and frame.f_back is not None:
            self._enter(frame.f_back)
        return self.on_line

    def _enter(self, frame: FrameType) -> None:
        self._latest = self._last[threading.get_ident()] = self._places(frame)

    def _places(self, frame: FrameType | None) -> tuple[_Place, ...]:
        places: list[_Place] = []
        while frame is not None and len(places) < _MOST_FRAMES:
            path = frame.f_code.co_filename
            if self._known.get(path) or (path not in self._known and self._is_users(path)):
                places.append((path, frame.f_lineno, frame.f_code.co_qualname))
            frame = frame.f_back
        return tuple(places)

    def _check(self) -> None:
        for k, state in enumerate(self._states):
            now = state()
            if now != self._now[k]:
                # A thread that has run no line yet did nothing: the one that started it waits at the line that did.
                last = self._last.get(threading.get_ident(), self._latest)
                if now > self._now[k] and last:
                    self._seen[k][last] += 1
                self._now[k] = now


def _frame(place: _Place) -> Frame:
    path, line, function = place
    return Frame(path=path, line=line, function=function, source=linecache.getline(path, line).strip() or None)
