"""Does several things at once, each lane with a fork server of its own; one lane is the caller's own thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from harness.capture.client import ForkServer

__all__ = ["in_lanes"]

_Item = TypeVar("_Item")
_AWAKE_EVERY_S = 0.1


def in_lanes(
    items: Sequence[_Item],
    work: Callable[[ForkServer, _Item], None],
    *,
    lanes: int,
    server: Callable[[int | None], ForkServer],
) -> None:
    """Call *work* for each item, *lanes* at once, in their order. *server* makes one, given the descriptor on which it
    is told of an interruption.

    The first exception of any lane ends all: the others finish the item that they are at, and it is raised here. A
    KeyboardInterrupt reaches every lane at once, as if it had come there, and is raised here when all have ended.
    """
    if lanes <= 1 or len(items) <= 1:
        if items:
            with server(None) as only:
                for item in items:
                    work(only, item)
        return
    _Lanes(items, work, server).run(min(lanes, len(items)))


class _Lanes(Generic[_Item]):
    def __init__(
        self,
        items: Sequence[_Item],
        work: Callable[[ForkServer, _Item], None],
        server: Callable[[int | None], ForkServer],
    ) -> None:
        self._waiting = list(items)
        self._work = work
        self._server = server
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._told, self._tell = os.pipe()

    def run(self, lanes: int) -> None:
        threads = [threading.Thread(target=self._lane, name=f"lane {i}", daemon=True) for i in range(lanes)]
        try:
            for thread in threads:
                thread.start()
            self._wait_for(threads)
        finally:
            os.close(self._tell)
            os.close(self._told)
        if self._error is not None:
            raise self._error

    def _wait_for(self, threads: list[threading.Thread]) -> None:
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(_AWAKE_EVERY_S)
        except KeyboardInterrupt as interrupt:
            self._end_with(interrupt)
            os.write(self._tell, b"!")
            for thread in threads:  # a second Ctrl-C comes through: the servers then end with this process
                thread.join()

    def _lane(self) -> None:
        try:
            with self._server(self._told) as server:
                while (item := self._next()) is not None:
                    self._work(server, item[0])
        except BaseException as error:
            self._end_with(error)

    def _next(self) -> tuple[_Item] | None:
        with self._lock:
            return (self._waiting.pop(0),) if self._waiting and self._error is None else None

    def _end_with(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
