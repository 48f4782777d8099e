"""Which scope is current: a context variable for Python, and a slot of the thread for the ledger. They must agree."""

from __future__ import annotations

import asyncio
from asyncio.events import _get_running_loop
from contextvars import Context, ContextVar
from threading import get_ident
from typing import Any

from harness.errors import ScopeContextError
from harness.scope.record import ROOT, Record, place_text

__all__ = ["Crossing", "Entry", "base_slot", "current_record", "enter", "leave", "present", "watch_for_await"]

Entry = tuple[Record, int, Any, Any]
"""A scope that was entered: its record, the thread, the task (None outside of any), and the entry around it."""

_ENTRY: ContextVar[Entry | None] = ContextVar("harness_scope", default=None)


def _task() -> Any:
    return asyncio.current_task() if _get_running_loop() is not None else None


def present() -> Entry | None:
    """The innermost entry that is this thread's and this task's, or was made around the whole event loop. Threads and
    tasks copy the context that they start from: what another one entered is not entered here."""
    entry = _ENTRY.get()
    if entry is None:
        return None
    thread, task = get_ident(), _task()
    while entry is not None and (entry[1] != thread or (entry[2] is not None and entry[2] is not task)):
        entry = entry[3]
    return entry


def current_record() -> Record:
    """The record of the innermost scope of this context; the root's where there is none."""
    entry = present()
    return entry[0] if entry is not None else ROOT


def base_slot(entry: Entry | None) -> int:
    """What the ledger's slot holds while no task runs."""
    while entry is not None and entry[2] is not None:
        entry = entry[3]
    return entry[0].number if entry is not None else 0


def enter(record: Record) -> None:
    """Make *record* current; :class:`ScopeContextError` where the ledger's slot is not what this context says."""
    outer = present()
    ledger = record.ledger or record.attach()
    expected = outer[0].number if outer is not None else 0
    found = ledger.enter_scope(record.number)
    if found != expected:
        ledger.enter_scope(expected)
        raise _crossed(record, outer, found)
    task = _task()
    _ENTRY.set((record, get_ident(), task, outer))
    if task is not None:
        watch_for_await()


def leave(record: Record) -> ScopeContextError | None:
    """Make the scope around *record* current again; what is wrong, if anything is, is returned and not raised."""
    entry = present()
    outer: Entry | None
    if entry is not None and entry[0] is record:
        outer = entry[3]
        if outer is not None:
            _ENTRY.set(outer)
            outer = present()
        else:
            _ENTRY.set(None)
        number = outer[0].number if outer is not None else 0
        found = record.ledger.enter_scope(number) if record.ledger is not None else record.number
        if found == record.number and not record.crossed:
            return None
        return _crossed(record, entry, found)
    return _out_of_order(record, entry)


def _out_of_order(record: Record, entry: Entry | None) -> ScopeContextError:
    inner, at = entry, entry
    while at is not None and at[0] is not record:
        at = at[3]
    if at is None:
        return ScopeContextError(
            f"scope {record.path} is left where it was not entered: the current scope of this thread and task is "
            f"{inner[0].path if inner is not None else 'root'}"
        )
    assert inner is not None
    outer: Entry | None = at[3]
    _ENTRY.set(outer)
    if record.ledger is not None:
        record.ledger.enter_scope(outer[0].number if outer is not None else 0)
    return ScopeContextError(
        f"scope {record.path} is left while {inner[0].path}, opened at {place_text(inner[0].opened_at)}, is still "
        "current: it was entered later and not left before (a generator or a coroutine that is suspended inside it?)"
    )


def _crossed(record: Record, entry: Entry | None, found: int) -> ScopeContextError:
    expected = entry[0].path if entry is not None else "root"
    if record.crossed:
        return ScopeContextError(
            f"scope {record.path} crossed an await: what was allocated after it belongs to the root"
        )
    return ScopeContextError(
        f"scope {record.path}: this context is in {expected}, but the thread allocates for scope number {found}: a "
        "scope that is open in another task or generator of this thread crossed an await or a yield"
    )


class Crossing:
    """One piece of code that is suspended and resumed, with the scope around it and those that it enters itself."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._outer: Entry | None = None
        self._inner: Entry | None = None
        self._begun = False

    def resume(self) -> None:
        """Make current what was when the code was suspended; the scope itself at first."""
        record = self._record
        ledger = record.ledger or record.attach()
        self._outer = present()
        if self._outer is not None:
            ledger.enter_scope(self._outer[0].number)
        if not self._begun:
            enter(record)
            self._begun = True
        elif self._inner is not None:
            _ENTRY.set((self._inner[0], get_ident(), _task(), self._inner[3]))
            ledger.enter_scope(self._inner[0].number)

    def suspend(self) -> None:
        """Put back what was current outside."""
        self._inner = _ENTRY.get()
        _ENTRY.set(self._outer)
        ledger = self._record.ledger or self._record.attach()
        ledger.enter_scope(base_slot(self._outer) if _task() is not None else self._number())

    def end(self, *, quietly: bool = False) -> None:
        """The code is over. Raises where it left a scope open; *quietly* where it ended with an error of its own."""
        wrong = leave(self._record)
        if wrong is not None:
            _ENTRY.set(self._outer)
            if self._record.ledger is not None:
                self._record.ledger.enter_scope(self._number())
            if not quietly:
                raise wrong
        if self._outer is not None and _task() is not None:
            watch_for_await()

    def _number(self) -> int:
        return self._outer[0].number if self._outer is not None else 0


def watch_for_await() -> None:
    """Look, as soon as this task is suspended, whether a scope is still set in the thread's slot.

    The look is put before all that the event loop has ready, where the loop allows it (asyncio's own does), so that
    no other task runs with a slot that is not its own."""
    loop = asyncio.get_running_loop()
    entry = present()
    handle = asyncio.Handle(_look, (entry,), loop, Context())
    ready = getattr(loop, "_ready", None)
    if ready is None:
        loop.call_soon(_look, entry, context=Context())
    elif not (ready and getattr(ready[0], "_callback", None) is _look):
        ready.appendleft(handle)


def _look(entry: Entry | None) -> None:
    if entry is None or entry[0].ledger is None:
        return
    base = base_slot(entry)
    found = entry[0].ledger.enter_scope(base)
    at: Entry | None = entry
    while found != base and at is not None:
        if at[0].number == found:
            at[0].crossed = True
        at = at[3]
