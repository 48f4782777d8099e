"""Scopes across suspension: at each resumption the scope is entered again, and left again before the next."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextvars import Context
from typing import Any, TypeVar

from harness.scope.context import Crossing
from harness.scope.ownership import require_open
from harness.scope.record import Record

__all__ = ["Awaiting", "iterate", "iterate_async", "run_in_thread"]

T = TypeVar("T")


class Awaiting(Awaitable[T]):
    """``await scope.awaiting(coroutine)``: the coroutine runs in the scope, other tasks in their own."""

    def __init__(self, record: Record, awaitable: Awaitable[T]) -> None:
        require_open(record)
        self._record = record
        self._awaitable = awaitable

    def __await__(self) -> Generator[Any, Any, T]:
        inner = self._awaitable.__await__()
        crossing = Crossing(self._record)
        value: Any = None
        error: BaseException | None = None
        while True:
            crossing.resume()
            try:
                if error is not None:
                    out = inner.throw(error)
                elif value is None:
                    out = next(inner)
                else:
                    out = inner.send(value)
            except StopIteration as stop:
                crossing.end()
                result: T = stop.value
                return result
            except BaseException:
                crossing.end(quietly=True)
                raise
            crossing.suspend()
            try:
                value, error = (yield out), None
            except BaseException as thrown:  # handed on to the coroutine, which decides
                value, error = None, thrown


def iterate(record: Record, iterable: Iterable[T]) -> Iterator[T]:
    """The items of *iterable*, whose own code runs in the scope; it is closed on every way out."""
    require_open(record)
    return _iterate(record, iterable)


def _iterate(record: Record, iterable: Iterable[T]) -> Iterator[T]:
    crossing = Crossing(record)
    iterator: Iterator[T] | None = None
    try:
        while True:
            crossing.resume()
            try:
                if iterator is None:
                    iterator = iter(iterable)
                item = next(iterator)
            except StopIteration:
                return
            finally:
                crossing.suspend()
            yield item
            del item
    finally:
        crossing.resume()
        try:
            if inspect.isgenerator(iterator):
                iterator.close()
        finally:
            crossing.end(quietly=True)


async def iterate_async(record: Record, iterable: AsyncIterator[T]) -> AsyncIterator[T]:
    """The same for an asynchronous generator."""
    iterator = iterable.__aiter__()
    try:
        while True:
            try:
                item = await Awaiting(record, iterator.__anext__())
            except StopAsyncIteration:
                return
            yield item
            del item
    finally:
        if inspect.isasyncgen(iterator):
            await iterator.aclose()


def run_in_thread(record: Record, work: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Start a thread in which the scope is current; the future has what *work* returns or raises."""
    require_open(record)
    future: Future[T] = Future()

    def run() -> None:
        crossing = Crossing(record)
        crossing.resume()
        try:
            result = work(*args, **kwargs)
        except BaseException as error:
            crossing.end(quietly=True)
            future.set_exception(error)
        else:
            crossing.end(quietly=True)
            future.set_result(result)

    thread = threading.Thread(target=Context().run, args=(run,), name=f"scope {record.path}", daemon=True)
    thread.start()
    return future
