"""A ledger from torch's dispatcher: works anywhere, sees what operators return in one thread, and is slow."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from harness.errors import BudgetExceededError
from harness.ledger.current import announce, withdraw
from harness.ledger.modes import leave_mode
from harness.ledger.protocol import Live, Mark, Refusal, SiteState, Survivor
from harness.ledger.scope_book import ScopeBook
from harness.ledger.sites import SiteTable
from harness.model.allocation import Frame

__all__ = ["DispatchLedger"]

_MOST_STORAGES = 1_000_000
"""Live storages that the table holds: about 300 bytes each, so at most some 300 MB."""

_BUDGET_HELP = "Free what is no longer needed before this line, work in smaller batches, or raise the scope's budget."

Observer = Callable[[str, Sequence[Any]], None]
"""Called before each operator with its name ("aten::addmm") and its positional arguments."""


class _Storage(weakref.ref[Any]):
    """A weak reference to a storage, with what is known of it. torch keeps a storage's Python object alive as long
    as the memory itself, also when only C++ holds it, so the reference dies with the memory."""

    __slots__ = ("birth", "bytes", "device", "key", "site")

    key: int
    bytes: int
    device: str
    birth: int
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


class _Mode(TorchDispatchMode):
    def __init__(self, ledger: DispatchLedger) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._ledger = ledger

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not self._ledger.is_running:
            return func(*args, **(kwargs or {}))
        observer = self._ledger.observer
        if observer is not None:
            observer(func._schema.name, args)
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self._ledger.see(out, func)
        elif out is not None:
            for value in out if type(out) in (tuple, list) else tree_iter(out):
                if isinstance(value, torch.Tensor):
                    self._ledger.see(value, func)
                elif type(value) in (tuple, list):
                    for inner in tree_iter(value):
                        if isinstance(inner, torch.Tensor):
                            self._ledger.see(inner, func)
        refused = self._ledger.take_refusal()
        if refused is not None:
            out = value = inner = None  # the traceback keeps this frame, and the frame would keep what was refused
            raise BudgetExceededError(refused.sentence, help=_BUDGET_HELP)
        return out


class _Thread(threading.local):
    """What is known of one thread: a refusal to be raised, and the mode that follows it (True: the ledger's own)."""

    refusal: Refusal | None = None
    followed: Any = None


class DispatchLedger:
    """See :class:`harness.ledger.protocol.Ledger`. *observer* is shown every operator before it runs.

    Storages die in any thread and in the middle of anything, so a death is only put in a queue (one atomic
    append) and taken off the books by the recording thread, before the next storage is entered: a key is never
    reused while its old entry is still there, and the peak is exact for what is seen.
    """

    source = "dispatch"
    blind_to = (
        "buffers inside kernels, other threads, compiled code (it runs uncompiled here), "
        "and memory that torch did not allocate"
    )

    def __init__(self, *, depth: int = 8, observer: Observer | None = None) -> None:
        self.observer = observer
        self.dropped = 0
        self._table = SiteTable(depth=depth)
        self._mode = _Mode(self)
        self._running = False
        self._storages: dict[int, _Storage] = {}
        self._sites: dict[int, _Site] = {}
        self._changed: set[int] = set()
        self._dead: deque[_Storage] = deque()
        self._bytes: dict[str, int] = {}
        self._peak: dict[str, int] = {}
        self._allocations = 0
        self._marks = 0
        self._open_marks: weakref.WeakSet[Mark] = weakref.WeakSet()
        self._scopes = ScopeBook()
        self._lock = threading.RLock()
        self._thread = _Thread()

    def start(self) -> Self:
        """Begin to record, in this thread."""
        self._mode.__enter__()  # type: ignore[no-untyped-call]
        self._running = True
        self._thread.followed = True
        announce(self)
        return self

    @property
    def is_running(self) -> bool:
        """Whether it records: a mode that another thread still has does nothing after the end."""
        return self._running

    def stop(self) -> None:
        if self._running:
            self._running = False
            withdraw(self)
            self._thread.followed = None
            leave_mode(self._mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def see(self, tensor: torch.Tensor, func: Any) -> None:
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
            older = any(returned.alias_info is not None for returned in func._schema.returns)
            self._enter(storage, key, size, str(tensor.device), func._schema.name, older)

    def take_refusal(self) -> Refusal | None:
        """The refusal of a budget that this thread's last operator exceeded, once."""
        refused, self._thread.refusal = self._thread.refusal, None
        return refused

    def _enter(self, storage: Any, key: int, size: int, device: str, operator: str, older: bool) -> None:
        """Put a storage on the books. An *older* one was there before this ledger: no scope of now made it."""
        entry = _Storage(storage, self._dead.append)
        entry.key, entry.bytes, entry.device, entry.birth = key, size, device, self._marks - 1
        entry.site = self._table.number_of(operator, sys._getframe(3))
        self._storages[key] = entry
        self._allocations += 1
        site = self._sites.get(entry.site)
        if site is None:
            site = self._sites[entry.site] = _Site()
        site.storages += 1
        site.births[entry.birth] = site.births.get(entry.birth, 0) + 1
        self._grow(entry, site, size)
        refused = self._scopes.born(key, device, size, older)
        if refused is not None:
            self._thread.refusal = refused

    def _resize(self, entry: _Storage, size: int) -> None:
        difference, entry.bytes = size - entry.bytes, size
        refused = self._scopes.resized(entry.key, entry.device, difference)
        if refused is not None:
            self._thread.refusal = refused
        self._grow(entry, self._sites[entry.site], difference)

    def _grow(self, entry: _Storage, site: _Site, size: int) -> None:
        site.bytes += size
        self._changed.add(entry.site)
        now = self._bytes[entry.device] = self._bytes.get(entry.device, 0) + size
        if now > self._peak.get(entry.device, 0):
            self._peak[entry.device] = now

    def _drain(self) -> None:
        with self._lock:
            self._take_off()

    def _take_off(self) -> None:
        while self._dead:
            entry = self._dead.popleft()
            del self._storages[entry.key]
            self._scopes.died(entry.key, entry.device, entry.bytes)
            self._bytes[entry.device] -= entry.bytes
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
        return [
            self._survivor(entry, self._scopes.owner(entry.key) or 0)
            for entry in self._storages.values()
            if entry.birth < mark.number
        ]

    @staticmethod
    def _survivor(entry: _Storage, scope: int) -> Survivor:
        return Survivor(
            bytes=entry.bytes, device=entry.device, birth=entry.birth, site=entry.site, key=entry.key, scope=scope
        )

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

    def storage_keys(self) -> dict[int, int]:
        """Live storages by their C++ address (``untyped_storage()._cdata``), with their sites."""
        self._drain()
        return {key: entry.site for key, entry in self._storages.items()}

    def define_scope(self, number: int, parent: int, *, name: str, budget_bytes: int | None = None) -> None:
        with self._lock:
            self._scopes.define(number, parent, name, budget_bytes)

    def enter_scope(self, number: int) -> int:
        thread = self._thread
        if number and not thread.followed and self._running:
            thread.followed = _Mode(self)
            thread.followed.__enter__()
        elif not number and type(thread.followed) is _Mode:
            leave_mode(thread.followed)
            thread.followed = None
        return self._scopes.enter(number)

    def forget_scope(self, number: int) -> None:
        with self._lock:
            self._drain()
            self._scopes.forget(number)

    def live_in_scope(self, number: int) -> Live:
        with self._lock:
            self._drain()
            return Live(storages=len(list(self._scopes.keys(number))), bytes=self._scopes.bytes(number))

    def survivors_in_scope(self, number: int) -> Sequence[Survivor]:
        with self._lock:
            self._drain()
            return [self._survivor(self._storages[key], number) for key in self._scopes.keys(number)]

    def move_to_scope(self, key: int, number: int) -> bool:
        with self._lock:
            self._drain()
            entry = self._storages.get(key)
            return entry is not None and self._scopes.move(key, entry.device, entry.bytes, number)

    def key_of(self, storage: Any) -> int:
        return int(storage._cdata)

    def scope_of(self, key: int) -> int | None:
        with self._lock:
            self._drain()
            return self._scopes.owner(key)

    def peak_in_scope(self, number: int) -> int:
        return self._scopes.peak(number)

    def refusal_in_scope(self, number: int) -> Refusal | None:
        return self._scopes.refusal(number)
