"""One child scope a batch, closed when the next one is asked for, and on every way out of the loop."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any, Generic, TypeVar

from harness.errors import ScopeError
from harness.scope.closing import close_record, end_members, raise_for
from harness.scope.context import enter, leave
from harness.scope.holders import named_in
from harness.scope.ownership import require_open
from harness.scope.record import OPEN, ROOT, OnEscape, Record, here
from harness.scope.roles import ROLES

__all__ = ["Batches"]

T = TypeVar("T")


class Batches(Generic[T]):
    """Iterator over a loader. What a batch's scope owns must be gone one batch later: until then the loop's own
    variables, which Python gives a new value only in the next round, may hold it. At the end of the loop, what its
    variables still name goes to the scope outside."""

    _over = True  # until it is made: it may be refused half-way

    def __init__(self, parent: Record, loader: Iterable[T], name: str, on_escape: OnEscape) -> None:
        require_open(parent)
        self._parent = parent
        self._name = name
        self._on_escape = on_escape
        self._opened = here(2)
        self._loader: Any = loader
        self._iterator: Iterator[T] | None = None
        self._present: Record | None = None
        self._ended: list[Record] = []
        self._items: tuple[int, ...] = ()
        self._over = False

    def __iter__(self) -> Iterator[T]:
        return self

    def __enter__(self) -> Batches[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish(sys._getframe(1), error)

    def close(self) -> None:
        """End the loop now: the present batch's scope, and the loader's iterator with what it fetched ahead."""
        self._finish(sys._getframe(1), None)

    def __del__(self) -> None:
        if self._over:
            return
        try:
            self._finish(sys._getframe(1), None)
        except Exception as error:
            if self._parent is not ROOT and self._parent.state == "open":
                self._parent.kept.append(error)  # raised when that scope ends: nothing can be raised from here
            else:
                warnings.warn(str(error), ResourceWarning, stacklevel=2)

    def __next__(self) -> T:
        if self._over:
            raise StopIteration
        frame = sys._getframe(1)
        try:
            self._end_present()
            self._settle(frame)
            self._begin()
            if self._iterator is None:
                self._iterator = iter(self._loader)
            item = next(self._iterator)
            self._items = (*self._items[-1:], id(item))
            return item
        except StopIteration:
            self._finish(frame, None)
            raise
        except BaseException as error:
            self._finish(frame, error)
            raise

    def _begin(self) -> None:
        require_open(self._parent)
        record = self._present = Record(self._name, self._parent, self._on_escape, None, self._opened)
        OPEN[record.number] = self._parent.children[record.number] = record
        self._parent.members[record.number] = record
        enter(record)

    def _end_present(self) -> None:
        record, self._present = self._present, None
        if record is None:
            return
        wrong = leave(record)
        if wrong is not None:
            raise_for(record, [wrong])
        failed = end_members(record, here(2, 3))
        self._ended.append(record)
        if failed:
            raise_for(record, failed)

    def _settle(self, frame: FrameType) -> None:
        """Close the scopes of batches before the last one; what a variable of the loop names by itself may stay."""
        waiting: list[Record] = []
        errors: list[BaseException] = []
        last = self._ended[-1] if self._ended else None
        for record in self._ended:
            if record.state != "open" or record.ledger is None:
                continue
            if record is last and self._alive(record):
                waiting.append(record)
            elif record is last or not self._left_alone(record, frame):
                errors += close_record(record, at=here(2, 3))
            else:
                waiting.append(record)
        self._ended = waiting
        if errors:
            raise_for(self._parent, errors)

    @staticmethod
    def _alive(record: Record) -> bool:
        return record.ledger is not None and record.ledger.live_in_scope(record.number).storages > 0

    def _left_alone(self, record: Record, frame: FrameType) -> bool:
        """Whether all that is alive in the scope is only named by the loop's variables."""
        ledger = record.ledger
        if ledger is None or not self._alive(record):
            return False
        ROLES.hand_over(record, ledger)
        keys = {s.key for s in ledger.survivors_in_scope(record.number)}
        return bool(keys) and named_in(frame, keys, ledger, through_graphs=False, items=self._items) == keys

    def _finish(self, frame: FrameType, error: BaseException | None) -> None:
        if self._over:
            return
        self._over = True
        errors: list[BaseException] = []
        try:
            self._end_present()
        except ScopeError as wrong:
            errors.append(wrong)
        except BaseExceptionGroup as failed:
            errors += failed.exceptions
        self._end_iterator(errors)
        for record in reversed(self._ended):
            self._hand_up_named(record, frame)
            errors += close_record(record, at=here(2, 3), error=error)
        self._ended = []
        if errors:
            raise_for(self._parent, errors)

    def _hand_up_named(self, record: Record, frame: FrameType) -> None:
        ledger = record.ledger
        if ledger is None or not self._alive(record):
            return
        ROLES.hand_over(record, ledger)
        keys = {s.key for s in ledger.survivors_in_scope(record.number)}
        for key in named_in(frame, keys, ledger, through_graphs=True, items=self._items) if keys else ():
            ledger.move_to_scope(key, self._parent.nearest_open().number)

    def _end_iterator(self, errors: list[BaseException]) -> None:
        """A loader's own iterator ends with the loop, with the batches that it fetched ahead."""
        iterator, self._iterator, loader, self._loader = self._iterator, None, self._loader, None
        if iterator is None or iterator is loader or getattr(iterator, "_persistent_workers", False):
            return
        for way in ("_shutdown_workers", "close"):
            end = getattr(iterator, way, None)
            if callable(end):
                try:
                    end()
                except Exception as failed:
                    errors.append(failed)
                return
