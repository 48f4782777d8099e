"""Lanes: every item once, one server a lane, and what an error or an interruption ends."""

from __future__ import annotations

import select
import signal
import threading
from typing import Any

import pytest

from harness.lanes import in_lanes


class FakeServer:
    """Knows the thread that it was made in, and whether it was closed."""

    made: list[FakeServer]

    def __init__(self, interrupt_fd: int | None) -> None:
        self.interrupt_fd = interrupt_fd
        self.thread = threading.get_ident()
        self.closed = False

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


@pytest.fixture
def servers() -> list[FakeServer]:
    return []


def maker(servers: list[FakeServer]) -> Any:
    def make(interrupt_fd: int | None) -> FakeServer:
        servers.append(FakeServer(interrupt_fd))
        return servers[-1]

    return make


def test_one_lane_is_the_callers_own_thread(servers: list[FakeServer]) -> None:
    done: list[tuple[int, int]] = []

    in_lanes([1, 2], lambda server, item: done.append((item, threading.get_ident())), lanes=1, server=maker(servers))

    assert done == [(1, threading.get_ident()), (2, threading.get_ident())]
    assert [server.closed for server in servers] == [True]


def test_two_lanes_do_each_item_once_at_the_same_time_each_with_its_own_server(servers: list[FakeServer]) -> None:
    meeting = threading.Barrier(2)
    done: list[int] = []

    def work(server: Any, item: int) -> None:
        meeting.wait()  # nobody passes alone: two items are at work at once
        assert server.thread == threading.get_ident()
        done.append(item)

    in_lanes(range(6), work, lanes=2, server=maker(servers))

    assert sorted(done) == [0, 1, 2, 3, 4, 5]
    assert [server.closed for server in servers] == [True, True]


def test_nothing_to_do_starts_no_server(servers: list[FakeServer]) -> None:
    in_lanes([], lambda server, item: None, lanes=2, server=maker(servers))

    assert servers == []


def test_an_error_in_one_lane_is_raised_and_no_further_item_is_begun(servers: list[FakeServer]) -> None:
    begun: list[int] = []
    failed = threading.Event()

    def work(server: Any, item: int) -> None:
        begun.append(item)
        if item == 0:
            failed.set()
            raise ValueError("item 0")
        failed.wait()
        while not servers[0].closed and not servers[1].closed:
            pass  # until the other lane has ended

    with pytest.raises(ValueError, match="item 0"):
        in_lanes(range(10), work, lanes=2, server=maker(servers))

    assert begun in ([0, 1], [0], [1, 0])
    assert all(server.closed for server in servers)


def test_an_interruption_reaches_every_lane_and_is_raised_when_all_have_ended(servers: list[FakeServer]) -> None:
    waiting = threading.Barrier(3)

    def interrupt() -> None:
        waiting.wait()
        signal.raise_signal(signal.SIGINT)  # Python hands it to the main thread, which waits for the lanes

    def work(server: Any, item: int) -> None:
        waiting.wait()
        select.select([server.interrupt_fd], [], [])
        raise KeyboardInterrupt

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        in_lanes([0, 1], work, lanes=2, server=maker(servers))
    thread.join()

    assert all(server.closed for server in servers)
