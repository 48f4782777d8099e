"""A ledger from torch's dispatcher: works anywhere, sees what operators return in one thread, and is slow."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import torch

from harness.ledger.current import announce, withdraw
from harness.ledger.dispatch_mode import LedgerMode, Observer
from harness.ledger.modes import leave_mode
from harness.ledger.protocol import Live, Mark, ScopeUse, SiteState, Survivor
from harness.ledger.scope_book import Presence, ScopeBook
from harness.ledger.sites import SiteTable
from harness.model.allocation import Frame

__all__ = ["DispatchLedger"]

_MOST_STORAGES = 1_000_000
"""Live storages that the table holds: about 300 bytes each, so at most some 300 MB."""


class _Storage(weakref.ref[Any]):
    """A weak reference to a storage, with what is known of it. torch keeps a storage's Python object alive as long
    as the memory itself, also when only C++ holds it, so the reference dies with the memory."""

    __slots__ = ("birth", "bytes", "device", "key", "scope", "site")

    key: int
    bytes: int
    device: str
    birth: int
    scope: int
    site: int


class _Site:
    """What one site has alive; births rise, so the first key is the oldest."""

    __slots__ = ("births", "bytes", "storages", "told")

    def __init__(self) -> None:
        self.storages = 0
        self.bytes = 0
        self.births: dict[int, int] = {}
        self.told: SiteState | None = None

    def state(self, number: int) -> SiteState:
        return SiteState(number, self.storages, self.bytes, next(iter(self.births), None))


class _Thread(threading.local):
    """What is known of a thread: a refusal that is due."""

    refusal: str | None = None


class DispatchLedger:
    """See :class:`harness.ledger.protocol.Ledger`. *observer* is shown every operator before it runs.

    Storages die in any thread and in the middle of anything, so a death is only put in a queue (one atomic
    append) and taken off the books by the recording thread, before the next storage is entered: a key is never
    reused while its old entry is still there, and the peak is exact for what is seen.

    A budget is checked when an operator has run: its result is let go and the operator raises, so the memory was there
    for a moment, and a storage that an operator made larger in place stays as large.
    """

    source = "dispatch"
    blind_to = (
        "buffers inside kernels, other threads, compiled code (it runs uncompiled here), "
        "and memory that torch did not allocate"
    )

    def __init__(self, *, depth: int = 8, observer: Observer | None = None) -> None:
        self.observer = observer
        self.dropped = 0
        self.is_running = False
        self._lock = threading.RLock()
        self._thread = _Thread()
        self._scopes = ScopeBook()
        self._table = SiteTable(depth=depth)
        self._mode: LedgerMode | None = None
        self._storages: dict[int, _Storage] = {}
        self._sites: dict[int, _Site] = {}
        self._changed: set[int] = set()
        self._dead: deque[_Storage] = deque()
        self._bytes: dict[str, int] = {}
        self._peak: dict[str, int] = {}
        self._allocations = 0
        self._marks = 0
        self._open_marks: weakref.WeakSet[Mark] = weakref.WeakSet()

    def start(self) -> Self:
        """Begin to record, in this thread."""
        self._mode = LedgerMode(self, self._scopes.presence())
        self._mode.__enter__()  # type: ignore[no-untyped-call]
        self.is_running = True
        self._scopes.presence().followed = True
        announce(self)
        return self

    def stop(self) -> None:
        if self.is_running and self._mode is not None:
            self.is_running = False
            withdraw(self)
            self._scopes.presence().followed = None
            leave_mode(self._mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def see(self, tensor: torch.Tensor, func: Any, origin: Presence) -> None:
        """Enter the storage of an operator's result, if it has one and it is new; note a resize if it is not."""
        if tensor.device.type == "meta":
            return
        try:
            storage = tensor.untyped_storage()
            key, size = storage._cdata, storage.nbytes()
        except (NotImplementedError, RuntimeError):
            return  # sparse, opaque and wrapper tensors have no storage of their own; their parts are seen apart
        with self._lock:
            self._drain()
            known = self._storages.get(key)
            if known is not None:
                if known.bytes != size:
                    self._resize(known, size)
                return
            if len(self._storages) >= _MOST_STORAGES:
                self.dropped += 1
                return
            scope = 0 if _is_older(storage, func._schema) else self._scopes.here(origin)
            self._enter(storage, key, size, str(tensor.device), func._schema.name, scope)

    def _enter(self, storage: Any, key: int, size: int, device: str, operator: str, scope: int) -> None:
        entry = _Storage(storage, self._dead.append)
        entry.key, entry.bytes, entry.device, entry.birth = key, size, device, self._marks - 1
        entry.site = self._table.number_of(operator, sys._getframe(3))
        entry.scope = scope
        self._storages[key] = entry
        self._allocations += 1
        site = self._sites.get(entry.site)
        if site is None:
            site = self._sites[entry.site] = _Site()
        site.storages += 1
        self._charge(entry, size, storages=1)
        site.births[entry.birth] = site.births.get(entry.birth, 0) + 1
        self._grow(entry, site, size)

    def _resize(self, entry: _Storage, size: int) -> None:
        difference, entry.bytes = size - entry.bytes, size
        self._charge(entry, difference, storages=0)
        self._grow(entry, self._sites[entry.site], difference)

    def _grow(self, entry: _Storage, site: _Site, size: int) -> None:
        site.bytes += size
        self._changed.add(entry.site)
        now = self._bytes[entry.device] = self._bytes.get(entry.device, 0) + size
        if now > self._peak.get(entry.device, 0):
            self._peak[entry.device] = now

    def _charge(self, entry: _Storage, size: int, *, storages: int) -> None:
        exceeded = self._scopes.charge(entry.scope, entry.device, size, storages=storages)
        if exceeded is not None and self._thread.refusal is None:
            self._thread.refusal = exceeded

    @property
    def refusal(self) -> str | None:
        """The refusal that is due in this thread."""
        return self._thread.refusal

    def refused(self) -> RuntimeError:
        """The error for the refusal that is due, which is then over."""
        sentence, self._thread.refusal = self._thread.refusal, None
        return RuntimeError(sentence)

    def _drain(self) -> None:
        if self._dead:
            with self._lock:
                self._take_off()

    def _take_off(self) -> None:
        while self._dead:
            entry = self._dead.popleft()
            del self._storages[entry.key]
            self._bytes[entry.device] -= entry.bytes
            self._scopes.charge(entry.scope, entry.device, -entry.bytes, storages=-1)
            site = self._sites[entry.site]
            site.storages -= 1
            site.bytes -= entry.bytes
            left = site.births[entry.birth] - 1
            if left:
                site.births[entry.birth] = left
            else:
                del site.births[entry.birth]
            self._changed.add(entry.site)

    def mark(self) -> Mark:
        self._drain()
        for open_mark in self._open_marks:
            for device, peak in self._peak.items():
                open_mark.peak_bytes[device] = max(peak, open_mark.peak_bytes.get(device, 0))
        self._peak = dict(self._bytes)
        mark = Mark(number=self._marks, allocations=self._allocations, peak_bytes={})
        self._marks += 1
        self._open_marks.add(mark)
        return mark

    def live(self, since: Mark | None = None) -> Live:
        self._drain()
        if since is None:
            return Live(storages=len(self._storages), bytes={d: b for d, b in self._bytes.items() if b})
        born = [entry for entry in self._storages.values() if entry.birth >= since.number]
        by_device: dict[str, int] = {}
        for entry in born:
            by_device[entry.device] = by_device.get(entry.device, 0) + entry.bytes
        return Live(storages=len(born), bytes=by_device)

    def survivors(self, mark: Mark) -> Sequence[Survivor]:
        self._drain()
        return [_survivor(entry) for entry in self._storages.values() if entry.birth < mark.number]

    def peak_bytes(self, mark: Mark) -> dict[str, int]:
        self._drain()
        devices = self._peak.keys() | mark.peak_bytes.keys()
        return {d: max(self._peak.get(d, 0), mark.peak_bytes.get(d, 0)) for d in sorted(devices)}

    def allocations(self, mark: Mark) -> int:
        return self._allocations - mark.allocations

    def changed_sites(self) -> Sequence[SiteState]:
        self._drain()
        changed, self._changed = self._changed, set()
        news = []
        for number in sorted(changed):
            site = self._sites[number]
            state = site.state(number)
            if state != site.told and (site.told is not None or state.storages):
                site.told = state
                news.append(state)
        return news

    def frames(self, site: int) -> tuple[str, tuple[Frame, ...]]:
        return self._table.frames(site)

    def device_of(self, site: int) -> str:
        """The device of the site's storages (of one of them, where a line allocates on several)."""
        return next((e.device for e in self._storages.values() if e.site == site), "cpu")

    def key_of(self, tensor: Any) -> int:
        return int(torch.Tensor.untyped_storage(tensor)._cdata)

    def storage_keys(self) -> dict[int, int]:
        self._drain()
        return {key: entry.site for key, entry in self._storages.items()}

    def define_scope(self, number: int, parent: int, *, name: str, budget_bytes: int | None = None) -> None:
        self._scopes.define(number, parent, name=name, budget_bytes=budget_bytes)

    def enter_scope(self, number: int) -> int:
        presence = self._scopes.presence()
        before = self._scopes.enter(number, presence)
        if number:
            if presence.followed is None and self.is_running:
                presence.followed = LedgerMode(self, presence)
                presence.followed.__enter__()
        elif isinstance(presence.followed, LedgerMode):
            leave_mode(presence.followed)
            presence.followed = None
        return before

    def forget_scope(self, number: int) -> None:
        with self._lock:
            self._drain()
            self._scopes.forget(number)

    def live_in_scope(self, number: int) -> Live:
        self._drain()
        return self._scopes.live(number)

    def scope_use(self, number: int) -> ScopeUse | None:
        self._drain()
        return self._scopes.use(number)

    def survivors_in_scope(self, number: int) -> Sequence[Survivor]:
        with self._lock:
            self._scopes.check(number)
            self._drain()
            return [_survivor(entry) for entry in self._storages.values() if entry.scope == number]

    def scope_of(self, key: int) -> int | None:
        self._drain()
        entry = self._storages.get(key)
        return entry.scope if entry is not None else None

    def move_to_scope(self, key: int, number: int) -> bool:
        with self._lock:
            self._scopes.check(number)
            self._drain()
            entry = self._storages.get(key)
            if entry is None:
                return False
            self._scopes.charge(entry.scope, entry.device, -entry.bytes, storages=-1)
            self._scopes.charge(number, entry.device, entry.bytes, storages=1)
            entry.scope = number
            return True


def _is_older(storage: Any, schema: Any) -> bool:
    """Whether a storage that is new to the ledger was there before its operator ran, so that no scope of now made it:
    the operator was given it and gives it back (a view, a change in place; torch.tensor() shows nothing but its
    lift_fresh), or it lies over memory that is not torch's."""
    if not storage.resizable():
        return True
    return schema.name != "aten::lift_fresh" and any(r.alias_info is not None for r in schema.returns)


def _survivor(entry: _Storage) -> Survivor:
    return Survivor(
        bytes=entry.bytes,
        device=entry.device,
        birth=entry.birth,
        site=entry.site,
        key=entry.key,
        scope=entry.scope,
    )
