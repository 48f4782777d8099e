"""Everything at once, for a sanitizer to look at: threads, made code, generators, scopes, budgets, heap walks, forks.
Sessions are begun and ended in between."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

import torch

from harness.ledger import _native
from harness.ledger.native_ledger import NativeLedger
from harness.retainers import heap_walk

_ROUNDS = int(os.environ.get("STRESS", "20"))


def _through_the_hooks() -> None:
    _native.exercise(2000 * _ROUNDS, 64, 100)


def _made_code() -> None:
    for number in range(50 * _ROUNDS):
        space = {"torch": torch}
        exec(compile(f"x = torch.empty({number % 9 + 1})", f"<made {number}>", "exec"), space)


def _generators_and_errors() -> None:
    def produce() -> Iterator[torch.Tensor]:
        for size in range(20 * _ROUNDS):
            yield torch.empty(size + 1)

    for tensor in produce():
        try:
            tensor.reshape(7, 7, 7)
        except RuntimeError:
            torch.empty(3)


def _training() -> None:
    layer = torch.nn.Linear(8, 8)
    for _ in range(10 * _ROUNDS):
        layer(torch.ones(2, 8)).sum().backward()


def _scopes(ledger: NativeLedger, first: int) -> None:
    for number in range(first, first + 20 * _ROUNDS):
        ledger.define_scope(number, 0, name=f"root/{number}", budget_bytes=5000)
        ledger.enter_scope(number)
        kept = torch.empty(100)
        try:
            torch.empty(10_000)
            raise AssertionError("a budget was not kept")
        except RuntimeError:
            pass
        ledger.enter_scope(0)
        ledger.move_to_scope(ledger.key_of(kept), 0)
        assert ledger.live_in_scope(number).storages == 0
        ledger.forget_scope(number)


def _questions(ledger: NativeLedger) -> None:
    for _ in range(10 * _ROUNDS):
        mark = ledger.mark()
        ledger.survivors(mark)
        ledger.changed_sites()
        ledger.storage_keys()
        ledger.live(since=mark)
        _native.events(0)


def _heap_walks() -> None:
    """From all modules, while the others make and drop objects; what was met is let go of in the midst of it."""
    before = None
    for _ in range(max(1, _ROUNDS // 5)):
        phases = [[vars(module) for module in list(sys.modules.values()) if type(module) is ModuleType], []]
        walk = heap_walk.walk(phases, [])
        if before is not None:
            walk.grown(before, 1)
            walk.types(before, 1)
        before = walk.sizes()
        for tensor in walk.instances(torch.Tensor):
            walk.path(tensor)
        walk.enter([object()], 10_000)
        walk.close()
        heap_walk.measure(phases, [])


def _forks() -> None:
    for _ in range(_ROUNDS if os.environ.get("STRESS_FORKS", "1") == "1" else 0):
        child = os.fork()
        if child == 0:
            _native.exercise(10, 64, 4)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


def _together(*works: Callable[[], None]) -> None:
    wrong: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def main() -> None:
    """A few seconds of it; an error of ours is an exception, and the sanitizer's is its own."""
    warnings.simplefilter("ignore", DeprecationWarning)  # Python's own about forks among threads
    torch.set_num_threads(1)
    for _ in range(3):
        with NativeLedger(depth=4, keep_events=True).start() as ledger:
            _together(
                _through_the_hooks,
                _through_the_hooks,
                _made_code,
                _generators_and_errors,
                _training,
                lambda: _scopes(ledger, 1),
                lambda: _scopes(ledger, 1_000_000),
                lambda: _questions(ledger),
                _heap_walks,
                _forks,
            )
            assert ledger.dropped == 0
    stopping = threading.Thread(target=_through_the_hooks)
    stopping.start()
    for _ in range(_ROUNDS):
        NativeLedger(depth=1).start().stop()
    stopping.join()
    print("the stress ran through")


if __name__ == "__main__":
    main()
