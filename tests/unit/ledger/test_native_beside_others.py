"""The native ledger beside what else stands in a process's calls: memray, and locks that are not ours."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

import memray
import pytest
import torch

from harness.ledger import why_not_native

if (_why_not := why_not_native()) is not None:
    pytest.skip(f"no native ledger: {_why_not}", allow_module_level=True)

from harness.ledger import _native
from harness.ledger.native_ledger import NativeLedger

SIZES = [10_007, 20_011, 30_013]
"""Floats; no other allocation has such sizes."""


def run_both(first: Literal["memray", "ledger"], path: Path) -> tuple[list[torch.Tensor], dict[str, int], bool]:
    """The tensors that live on, what the ledger says of them, and whether it is intact; *first* starts before the
    other."""
    ledger = NativeLedger(depth=2)
    tools: list[AbstractContextManager[object]] = [memray.Tracker(path, native_traces=True), _Started(ledger)]
    with contextlib.ExitStack() as running:
        for tool in tools if first == "memray" else tools[::-1]:
            running.enter_context(tool)
        kept = work()
        ledger.mark()
        return kept, ledger.live().bytes, ledger.intact


class _Started:
    """The ledger, started when it is entered and not when it is made."""

    def __init__(self, ledger: NativeLedger) -> None:
        self._ledger = ledger

    def __enter__(self) -> None:
        self._ledger.start()

    def __exit__(self, *error: object) -> None:
        self._ledger.stop()


def work() -> list[torch.Tensor]:
    kept = []
    for size in SIZES:
        torch.empty(size)
        kept.append(torch.empty(size))
    return kept


@pytest.mark.parametrize("first", ["memray", "ledger"])
def test_memray_and_the_ledger_agree_to_the_byte_whichever_came_first(
    first: Literal["memray", "ledger"], tmp_path: Path
) -> None:
    path = tmp_path / "memray.bin"

    kept, live, is_intact = run_both(first, path)

    records = memray.FileReader(path).get_leaked_allocation_records(merge_threads=True)
    leaked = {(record.size, record.n_allocations) for record in records}
    assert live == {"cpu": 4 * sum(SIZES)}
    assert is_intact
    assert (4 * sum(SIZES), len(SIZES)) in leaked  # one line, so one record
    assert len(kept) == 3


FOREIGN = r"""
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_held, is_waited_for;

void allocate_under_the_lock(void *(*alloc)(unsigned long), void (*release)(void *))
{
    pthread_mutex_lock(&lock);
    is_held = 1;
    while (!is_waited_for) sched_yield();
    for (int i = 0; i < 100000; i++) release(alloc(64));
    pthread_mutex_unlock(&lock);
}

void wait_for_the_lock(void)
{
    while (!is_held) sched_yield();
    is_waited_for = 1;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_an_allocation_under_a_lock_that_waits_with_the_interpreters_lock_does_not_deadlock(tmp_path: Path) -> None:
    # One thread allocates under the lock and without the interpreter's; the other keeps the interpreter's and waits for
    # the lock. A hook that took the interpreter's lock would never come back.
    (tmp_path / "foreign.c").write_text(FOREIGN)
    library = tmp_path / "foreign.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "foreign.c"], check=True)
    alloc, release = (ctypes.c_void_p(hook) for hook in _native.hooks())

    with NativeLedger(depth=4).start() as ledger:
        start = ledger.mark()
        thread = threading.Thread(target=ctypes.CDLL(str(library)).allocate_under_the_lock, args=(alloc, release))
        thread.start()
        ctypes.PyDLL(str(library)).wait_for_the_lock()  # PyDLL: keeps the interpreter's lock meanwhile
        thread.join()

        assert ledger.allocations(start) == 100_000
        assert ledger.live().storages == 0


def test_a_slot_that_another_tool_took_over_is_noticed_at_the_next_mark_and_left_to_it() -> None:
    with NativeLedger(depth=1).start() as ledger:
        with other_tool_in_a_slot():
            ledger.mark()
            assert not ledger.intact
        ledger.mark()
        assert not ledger.intact  # what went by meanwhile was not seen


class other_tool_in_a_slot:  # noqa: N801 - reads as the phrase that it is
    """Puts back into one slot what was there before the ledger, as a tool that takes the slots over would."""

    def __enter__(self) -> None:
        address, before, self._ours, _ = next(slot for slot in _native.slot_table() if not slot[3])
        self._slot = ctypes.c_uint64.from_address(address)
        self._slot.value = before

    def __exit__(self, *error: object) -> None:
        self._slot.value = self._ours
