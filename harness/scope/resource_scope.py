"""ResourceScope: owns what is allocated inside it, hands over explicitly, and says what outlived it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, overload

from harness.errors import ScopeContextError, UsageError
from harness.ledger.protocol import Live
from harness.scope.batches import Batches
from harness.scope.closed_tensor import Closure
from harness.scope.closer import close_tensor
from harness.scope.closing import close_record, raise_for
from harness.scope.context import current_record, enter, leave
from harness.scope.devices import DEVICES
from harness.scope.dump import dump
from harness.scope.guard import Offender, guard, unguard
from harness.scope.loans import Loan
from harness.scope.outliving import OUTLIVING, Escape
from harness.scope.owned import Owned, OwnedTensors
from harness.scope.ownership import Move, adopt, keep, release, require_open
from harness.scope.quarantine import QUARANTINE
from harness.scope.record import OPEN, ROOT, OnEscape, Record, here
from harness.scope.resuming import Awaiting, iterate, iterate_async, run_in_thread
from harness.scope.scope_dump import ScopeDump
from harness.scope.storages import tensors_in
from harness.scope.tree import abandon
from harness.units import parse_bytes

__all__ = ["ResourceScope", "batches", "current", "root"]

T = TypeVar("T")


class ResourceScope:
    """``with ResourceScope("request", on_escape="raise", budget="512 MiB") as scope:``

    A new scope is a child of the current one. While it is entered, what this thread or task allocates belongs to it.
    At its end, what still lives there has escaped: it is listed and goes to the scope outside ("report"), is an
    :class:`EscapedTensorsError` ("raise"), or is closed ("close"). Gradients, optimizer state and buffers go to
    where they belong instead. A scope holds on to no tensor but those that it is given with :meth:`own`.
    """

    __slots__ = ("__weakref__", "_record")

    def __init__(self, name: str, *, on_escape: OnEscape = "report", budget: str | int | None = None) -> None:
        self._record = _opened(name, current_record(), on_escape, budget)

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def path(self) -> str:
        """``root/model/request#17``: every message uses it; the number is the scope's own."""
        return self._record.path

    @property
    def is_open(self) -> bool:
        return self._record.state == "open"

    def __repr__(self) -> str:
        return f"<ResourceScope {self._record.path} ({self._record.state})>"

    def __enter__(self) -> Self:
        record = self._record
        require_open(record)
        if record is ROOT or record.entered:
            raise ScopeContextError(f"scope {record.path} is entered already; open a child scope instead")
        enter(record)
        record.entered = 1
        if record.cap is not None or (record.budget is not None and DEVICES[0].in_use()):
            guard(record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        record = self._record
        record.entered = 0
        if record.extra is not None:
            unguard(record)
        wrong = leave(record)
        errors = close_record(record, at=here(1, 2), error=error)
        if wrong is not None:
            errors.insert(0, wrong)
            wrong = None
        if errors:
            raise_for(record, errors)

    def __del__(self) -> None:
        record = getattr(self, "_record", None)
        if record is not None and record.state == "open" and not sys.is_finalizing():
            abandon(record)

    def child(self, name: str, *, on_escape: OnEscape = "report", budget: str | int | None = None) -> ResourceScope:
        """A scope below this one, also when it is capped. It is not entered yet."""
        require_open(self._record)
        made = ResourceScope.__new__(ResourceScope)
        made._record = _opened(name, self._record, on_escape, budget)
        return made

    def close(self) -> None:
        """Close it and what is below it, the last that came first. Closing twice is no error."""
        record = self._record
        if record is ROOT:
            raise ScopeContextError(
                "the root scope cannot be closed: it owns what no scope owns, for as long as the process lives",
                help="Open a scope of your own and close that.",
            )
        unguard(record)
        raise_for(record, close_record(record, at=here(1, 3)))

    def adopt(self, tree: T) -> T:
        """Make this scope the owner of all tensors of a pytree; where one cannot be, of none."""
        adopt(self._record, tree, here(1))
        return tree

    def release(self, tree: T) -> T:
        """Take the tensors out of all scopes. They are listed as released until they die."""
        release(self._record, tree, here(1))
        return tree

    def keep(self, tree: T) -> T:
        """Hand to the parent what this scope, or one below it, owns of *tree*; a top-level scope releases it."""
        keep(self._record, tree, here(1))
        return tree

    def borrow(self, *trees: Any) -> Loan:
        """``with scope.borrow(a, b):`` own them meanwhile, and give them back to their owners on every way out."""
        return Loan(self._record, trees, here(1))

    def own(self, thing: T) -> T:
        """Close *thing* (a handle, file, iterator, pool, CUDA graph) at the end; a tensor, or a pytree of tensors, is
        adopted, held on to, and closed then."""
        record = self._record
        require_open(record)
        if tensors_in(thing):
            adopt(record, thing, here(1))
            record.members[id(thing)] = OwnedTensors(thing)
        else:
            record.members[id(thing)] = Owned(thing)
        return thing

    def cap(self, mode: Literal["raise", "record"] = "raise") -> None:
        """From now on, an allocation in this scope itself is an error at its line, or is recorded in ``offenders``."""
        if mode not in ("raise", "record"):
            raise UsageError(f"cap(mode={mode!r}) is no mode", help='One of "raise", "record".')
        require_open(self._record)
        self._record.cap = mode
        if self._record.entered:
            guard(self._record)

    def uncap(self) -> None:
        self._record.cap = None
        unguard(self._record)

    @property
    def offenders(self) -> tuple[Offender, ...]:
        """The lines that allocated while the scope was capped with ``mode="record"``."""
        return tuple(self._record.offenders)

    @property
    def moves(self) -> tuple[Move, ...]:
        """The last hand-overs to this scope."""
        return tuple((self._record.extra or {}).get("moves", ()))

    @property
    def escapes(self) -> tuple[Escape, ...]:
        """What escaped from this scope and from scopes of the same name and place, and from those below them: each
        names the outer scope that ended up as the owner."""
        return OUTLIVING.escapes(self._record.stem)

    def close_tensor(self, tensor: Any) -> Closure:
        """Close one tensor: every later use of it is a :class:`UseAfterCloseError`. Views, numpy arrays and graphs on
        its memory stay right, and keep it: ``held_by`` says so. No thread that is using it is disturbed."""
        return close_tensor(self._record, tensor, here(1, 3))

    def live(self) -> Live:
        """How many storages the scope itself owns now, and their bytes by device: cheap, where dump() is thorough."""
        ledger = self._record.ledger
        return ledger.live_in_scope(self._record.number) if ledger is not None else Live(storages=0, bytes={})

    def dump(self) -> ScopeDump:
        """What the scope is and owns, as data. Never raises."""
        QUARANTINE.settle()
        return dump(self._record)

    def batches(self, loader: Iterable[T], name: str = "batch", *, on_escape: OnEscape = "report") -> Batches[T]:
        """``for batch in scope.batches(loader):`` one child scope a batch."""
        return Batches(self._record, loader, name, on_escape)

    def awaiting(self, awaitable: Awaitable[T]) -> Awaiting[T]:
        """``await scope.awaiting(work())``: the coroutine runs in this scope; other tasks do not."""
        return Awaiting(self._record, awaitable)

    @overload
    def iterate(self, iterable: AsyncIterator[T]) -> AsyncIterator[T]: ...
    @overload
    def iterate(self, iterable: Iterable[T]) -> Iterator[T]: ...
    def iterate(self, iterable: Any) -> Any:
        """``for x in scope.iterate(generator()):`` the generator runs in this scope, the loop's body does not."""
        if hasattr(iterable, "__aiter__"):
            return iterate_async(self._record, iterable)
        return iterate(self._record, iterable)

    def run_in_thread(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        """Run *work* in a new thread with this scope current; the future has its result."""
        return run_in_thread(self._record, work, *args, **kwargs)


def _opened(name: str, parent: Record, on_escape: OnEscape, budget: str | int | None) -> Record:
    if type(name) is not str or not name:
        raise UsageError(f"a scope's name is a text that is not empty, and not {name!r}", help='ResourceScope("epoch")')
    if on_escape not in ("report", "raise", "close"):
        raise UsageError(f"on_escape={on_escape!r} is unknown", help='One of "report", "raise", "close".')
    limit = parse_bytes(budget) if isinstance(budget, str) else budget
    record = Record(name, parent, on_escape, limit, here(2))
    with parent.lock:
        require_open(parent)
        OPEN[record.number] = parent.children[record.number] = record
        if parent is not ROOT:
            parent.members[record.number] = record
        record.attach()
    return record


def current() -> ResourceScope:
    """The innermost scope of this thread and task; the root where there is none."""
    return _of(current_record())


def root() -> ResourceScope:
    """The scope of everything that no scope owns. It cannot be closed."""
    return _of(ROOT)


def _of(record: Record) -> ResourceScope:
    return _View(record)


class _View(ResourceScope):
    """A scope that somebody else has: when this goes, that one is not abandoned."""

    __slots__ = ()

    def __init__(self, record: Record) -> None:
        self._record = record

    def __del__(self) -> None:
        pass


def batches(loader: Iterable[T], *, name: str = "batch", on_escape: OnEscape = "report") -> Batches[T]:
    """One child scope of the current scope for each batch of *loader*."""
    return Batches(current_record(), loader, name, on_escape)
