"""The line at which something grows is seen while it runs."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.model.allocation import Frame
from harness.retainers.growing_lines import lines_where, size_watch

HERE = Path(__file__).as_posix()
Ask = Callable[[], bool]


def lines_of(*containers: Any, run: Callable[[Ask], None]) -> list[tuple[Frame, ...]]:
    states = [size_watch([one], len) for one in containers]
    return lines_where(states, run, lambda path: path == HERE)


def test_the_line_that_adds_is_told_with_its_callers() -> None:
    kept: list[int] = []

    def add(x: int) -> None:
        y = x + 1
        kept.append(y)

    def step() -> None:
        for k in range(3):
            add(k)

    (frames,) = lines_of(kept, run=lambda enough: step())

    assert [frame.source for frame in frames[:2]] == ["kept.append(y)", "add(k)"]


def test_what_a_library_adds_belongs_to_the_line_that_called_it() -> None:
    names: dict[str, int] = {}

    def step() -> None:
        for k in range(3):
            library(names, str(k))

    namespace: dict[str, Any] = {}
    exec(compile("def library(d, k):\n    x = 1\n    d[k] = x\n", "/lib/library.py", "exec"), namespace)
    library = namespace["library"]

    (frames,) = lines_of(names, run=lambda enough: step())

    assert frames[0].source == "library(names, str(k))"


def test_each_container_has_its_own_line_and_one_that_stands_still_has_none() -> None:
    a: list[int] = []
    b: set[int] = set()
    c: list[int] = []

    def step() -> None:
        for k in range(3):
            a.append(k)
            b.add(k)

    lines = lines_of(a, b, c, run=lambda enough: step())

    assert [frames[0].source if frames else None for frames in lines] == ["a.append(k)", "b.add(k)", None]


def test_a_new_threads_line_is_its_own() -> None:
    kept: list[int] = []

    def work() -> None:
        kept.append(1)

    def step() -> None:
        for _ in range(3):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    (frames,) = lines_of(kept, run=lambda enough: step())

    assert frames[0].source == "kept.append(1)"


def test_a_new_thread_belongs_to_the_line_that_started_it() -> None:
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def work() -> None:
        ended.wait()

    def step() -> None:
        for _ in range(3):
            threads.append(threading.Thread(target=work))
            threads[-1].start()

    (frames,) = lines_where([threading.active_count], lambda enough: step(), lambda path: path == HERE)
    ended.set()
    for thread in threads:
        thread.join()

    assert frames[0].source == "threads[-1].start()"


def test_it_is_enough_when_each_was_seen_twice() -> None:
    kept: list[int] = []
    asked: list[bool] = []

    def run(enough: Ask) -> None:
        for k in range(4):
            asked.append(enough())
            kept.append(k)

    lines_of(kept, run=run)

    assert asked == [False, False, False, True] or asked == [False, False, True, True]


def test_a_tracer_that_was_there_is_put_back_also_after_an_error() -> None:
    def tracer(frame: Any, event: str, arg: Any) -> Any:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with contextlib.suppress(IndexError):
            lines_of([], run=lambda enough: [][1])
        there = sys.gettrace()
    finally:
        sys.settrace(before)

    assert there is tracer


def test_when_the_time_is_over_the_rest_of_a_step_is_not_traced() -> None:
    kept: list[int] = []
    tracers: list[Any] = []

    def step() -> None:
        kept.append(1)
        tracers.append(sys.gettrace())

    states = [size_watch([kept], len)]
    lines = lines_where(states, lambda enough: step(), lambda path: path == HERE, most_s=-1.0)

    assert tracers == [None]
    assert lines == [()]
