"""A scope that does nothing: the same calls, no cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import nullcontext
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from harness.ledger.protocol import Live
from harness.scope.record import OnEscape
from harness.scope.scope_dump import ScopeDump

__all__ = ["NullScope"]

T = TypeVar("T")


class NullScope:
    """Stands in for a :class:`ResourceScope` where none is wanted. What is given to it stays as it is; it owns nothing,
    and closes nothing."""

    __slots__ = ()

    name = path = "null"
    is_open = True
    offenders: tuple[Any, ...] = ()
    moves: tuple[Any, ...] = ()
    escapes: tuple[Any, ...] = ()

    def __init__(self, name: str = "null", *, on_escape: OnEscape = "report", budget: str | int | None = None) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def child(self, name: str, *, on_escape: OnEscape = "report", budget: str | int | None = None) -> Self:
        return self

    def close(self) -> None:
        pass

    def adopt(self, tree: T) -> T:
        return tree

    def release(self, tree: T) -> T:
        return tree

    def keep(self, tree: T) -> T:
        return tree

    def borrow(self, *trees: Any) -> nullcontext[Any]:
        return nullcontext(trees[0] if len(trees) == 1 else trees)

    def own(self, thing: T) -> T:
        return thing

    def cap(self, mode: Literal["raise", "record"] = "raise") -> None:
        pass

    def uncap(self) -> None:
        pass

    def close_tensor(self, tensor: Any) -> None:
        pass

    def live(self) -> Live:
        return Live(storages=0, bytes={})

    def dump(self) -> ScopeDump:
        return ScopeDump(path="null", name="null", state="open")

    def batches(self, loader: Iterable[T], name: str = "batch", *, on_escape: OnEscape = "report") -> Iterable[T]:
        return loader

    def awaiting(self, awaitable: T) -> T:
        return awaitable

    def iterate(self, iterable: T) -> T:
        return iterable

    def run_in_thread(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(work(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future
