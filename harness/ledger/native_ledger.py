"""A ledger from torch's own allocation calls: exact, in all threads, and cheap enough to leave on."""

from __future__ import annotations

import atexit
import linecache
import os
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import torch

from harness.errors import UsageError
from harness.ledger import _native
from harness.ledger.current import announce, withdraw
from harness.ledger.peak import History, PeakPart, at_the_peak
from harness.ledger.protocol import Live, Mark, ScopeUse, SiteState, Survivor
from harness.ledger.sites import PREFIXES
from harness.model.allocation import Frame

__all__ = ["NativeLedger"]

_MOST_STORAGES = 4_000_000
"""Live storages that the table holds: 64 to 128 bytes each, so at most some 400 MiB."""

_NO_SCOPE = 2**32 - 1
_MOST_TRIES = 8
_EVER = (-(2**31), 2**31 - 1)
_SPECIAL_SITES = ("(more sites than are kept)", "native thread", "(counts only)")

_Record = tuple[int, int, int, int, int, int, int]
"""Serial number, address, bytes, birth, site, scope, thread."""


class NativeLedger:
    """See :class:`harness.ledger.protocol.Ledger`. One runs in a process at a time; *depth* 0 only counts.

    ``intact`` is False once another tool was seen in our place at a mark: from there on the figures are not to be
    trusted. Storages of no bytes take no memory and are not seen. A stopped ledger answers until another is started.
    """

    source = "native"
    blind_to = (
        "memory that torch did not allocate (from numpy, mapped, shared between processes, inside oneDNN), "
        "the C++ objects of the autograd graph, and devices other than the CPU"
    )

    def __init__(self, *, depth: int = 8, most_storages: int = _MOST_STORAGES, keep_events: bool = False) -> None:
        self.intact = True
        self.not_restored: str | None = None
        self._depth = depth
        self._most_storages = most_storages
        self._keep_events = keep_events
        self._session = 0
        self._running = False
        self._slots = {0: 0}
        self._open_marks: weakref.WeakSet[Mark] = weakref.WeakSet()
        self._event_at: weakref.WeakKeyDictionary[Mark, int] = weakref.WeakKeyDictionary()

    def start(self) -> Self:
        """Begin to record, in all threads. :class:`UsageError` says why it cannot be done here."""
        try:
            self._session = _native.start(self._depth, PREFIXES, self._most_storages, self._keep_events)
        except RuntimeError as error:
            raise UsageError(f"the native ledger cannot start: {error}", help='Use source="dispatch".') from error
        self._running = True
        announce(self)
        atexit.register(self.stop)  # nothing may be looked at once the interpreter is taken apart
        return self

    def stop(self) -> None:
        if not self._running:
            return
        self._running = False
        withdraw(self)
        lost = _native.stop()
        if lost:
            self.not_restored = f"{lost} of torch's allocation slots were taken over by another tool and left to it"
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def dropped(self) -> int:
        self._check()
        return _native.totals()[4]

    def _check(self) -> None:
        if _native.session()[0] != self._session:
            raise UsageError(
                "this native ledger was stopped, and another one has been started since",
                help="Ask a ledger before the next one starts: there is one table in a process.",
            )

    # -- intervals

    def mark(self) -> Mark:
        self._check()
        number, allocations, peak, lost, event = _native.mark()
        self.intact = self.intact and not (lost and self._running)
        for open_mark in self._open_marks:
            open_mark.peak_bytes["cpu"] = max(peak, open_mark.peak_bytes.get("cpu", 0))
        mark = Mark(number=number, allocations=allocations, peak_bytes={})
        self._open_marks.add(mark)
        self._event_at[mark] = event
        return mark

    def live(self, since: Mark | None = None) -> Live:
        self._check()
        storages, bytes_ = _native.totals()[:2] if since is None else _native.born_since(since.number)
        return Live(storages=storages, bytes={"cpu": bytes_} if bytes_ else {})

    def survivors(self, mark: Mark) -> Sequence[Survivor]:
        self._check()
        return [_survivor(record) for record in _native.records(_EVER[0], mark.number, _NO_SCOPE)]

    def peak_bytes(self, mark: Mark) -> dict[str, int]:
        self._check()
        peak = max(_native.totals()[2], mark.peak_bytes.get("cpu", 0))
        return {"cpu": peak} if peak else {}

    def peak_parts(self, mark: Mark) -> tuple[PeakPart, ...] | None:
        """What was alive at the peak since *mark*, by site, the largest first. None where :meth:`history` is."""
        history = self.history(mark)
        if history is None:
            return None
        return at_the_peak(history.alive, [(key, bytes_, site) for key, bytes_, site, _ in history.events])

    def history(self, mark: Mark) -> History | None:
        """What is alive, and every birth and death since *mark*. None where it cannot be told: without *keep_events*,
        after more events than the ring holds, or while other threads allocate without a pause."""
        self._check()
        since = self._event_at[mark]
        for _ in range(_MOST_TRIES):
            events = _native.events(since)
            if events is None:
                return None
            alive = [
                (address, bytes_, site) for _, address, bytes_, _, site, _, _ in _native.records(*_EVER, _NO_SCOPE)
            ]
            if _native.event_count() == since + len(events):  # both are of one moment
                return History(first=since, events=tuple(events), alive=tuple(alive))
        return None

    def events_so_far(self) -> int:
        """How many births and deaths there were since the start, with *keep_events*: the number of the next one."""
        return _native.event_count()

    def allocations(self, mark: Mark) -> int:
        self._check()
        return _native.totals()[3] - mark.allocations

    # -- sites

    def changed_sites(self) -> Sequence[SiteState]:
        self._check()
        return [SiteState(*state) for state in _native.changed()]

    def frames(self, site: int) -> tuple[str, tuple[Frame, ...]]:
        self._check()
        if site < len(_SPECIAL_SITES):
            return _SPECIAL_SITES[site], ()
        (path, function), frames = _native.site(site)
        return _label(path, function), tuple(
            Frame(path=path, line=line, function=function, source=linecache.getline(path, line).strip() or None)
            for path, line, function in frames
        )

    def device_of(self, site: int) -> str:
        return "cpu"

    # -- storages

    def key_of(self, tensor: Any) -> int:
        # Of the storage, not of the view; unlike data_ptr() it does not make a lazy clone real, and runs nothing else.
        address: int = torch._C._data_address(tensor)  # type: ignore[attr-defined]
        return address

    def storage_keys(self) -> dict[int, int]:
        self._check()
        return {address: site for _, address, _, _, site, _, _ in _native.records(*_EVER, _NO_SCOPE)}

    # -- scopes

    def define_scope(self, number: int, parent: int, *, name: str, budget_bytes: int | None = None) -> None:
        self._check()
        if number in self._slots:
            raise UsageError(f"scope {number} is defined already", help="Every scope takes a number of its own.")
        budget = -1 if budget_bytes is None else budget_bytes
        self._slots[number] = _native.scope_define(number, self._slot_of(parent), name, budget)

    def enter_scope(self, number: int) -> int:
        return _native.scope_enter(self._slot_of(number), number)

    def forget_scope(self, number: int) -> None:
        slot = self._slot_of(number)
        if number == 0:
            raise UsageError("the root scope cannot be forgotten", help="It ends with the ledger.")
        del self._slots[number]
        _native.scope_forget(slot)

    def live_in_scope(self, number: int) -> Live:
        storages, bytes_, *_ = _native.scope_figures(self._slot_of(number))
        return Live(storages=storages, bytes={"cpu": bytes_} if bytes_ else {})

    def scope_use(self, number: int) -> ScopeUse | None:
        _, _, budget, used, peak, refusals = _native.scope_figures(self._slot_of(number))
        if budget < 0:
            return None
        return ScopeUse(budget_bytes=budget, used_bytes=used, peak_bytes=peak, refusals=refusals)

    def survivors_in_scope(self, number: int) -> Sequence[Survivor]:
        self._check()
        return [_survivor(record) for record in _native.records(*_EVER, self._slot_of(number))]

    def scope_of(self, key: int) -> int | None:
        found = _native.find(key)
        return found[5] if found is not None else None

    def move_to_scope(self, key: int, number: int) -> bool:
        return _native.move(key, self._slot_of(number), number)

    def _slot_of(self, number: int) -> int:
        slot = self._slots.get(number)
        if slot is None:
            raise UsageError(f"scope {number} is not defined, or is forgotten", help="Define it before it is used.")
        return slot


def _survivor(record: _Record) -> Survivor:
    _, address, bytes_, birth, site, scope, _ = record
    return Survivor(bytes=bytes_, device="cpu", birth=birth, site=site, key=address, scope=scope)


def _label(path: str, function: str) -> str:
    """torch's own function below the user's line, for a site without frames to have a name."""
    if not function:
        return ""
    parts = path.split(os.sep)
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            parts = parts[parts.index(folder) + 1 :]
    return f"{'.'.join(parts[-3:]).removesuffix('.py')}.{function}"
