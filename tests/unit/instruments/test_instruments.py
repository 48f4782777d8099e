"""Each instrument sees what it claims to see, in the unit that the metrics table gives."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from harness.capture.recorder import with_late_accelerator, working_instruments
from harness.instruments import INSTRUMENTS
from harness.instruments.accelerator import Accelerator
from harness.instruments.children import Children
from harness.instruments.heap import Heap
from harness.instruments.process import ProcessMemory, UniqueMemory
from harness.instruments.protocol import Instrument
from harness.instruments.pyobjects import PythonBlocks, PythonBytes
from harness.instruments.resources import Resources, SharedFiles
from harness.instruments.settle import settle
from harness.model.metric import metric

MIB = 1 << 20


def reading(instrument: Instrument) -> dict[str, int]:
    values: dict[str, int] = {}
    instrument.read(values)
    return values


def change(instrument: Instrument, body: Callable[[], object]) -> dict[str, int]:
    """What *body* moves; its result is alive while the second reading is taken."""
    reading(instrument)
    before = reading(instrument)
    kept = body()
    after = reading(instrument)
    del kept
    return {name: after[name] - before[name] for name in after}


@pytest.mark.parametrize("kind", INSTRUMENTS, ids=lambda kind: kind.__name__)
def test_an_instrument_reads_only_metrics_of_the_table_or_says_why_it_cannot(kind: Callable[[], Instrument]) -> None:
    instrument = kind()
    reason = instrument.absence()

    if reason is not None:
        assert len(reason) > 20
        return
    assert set(reading(instrument)) <= set(instrument.metrics)
    assert all(metric(name).blind_to for name in instrument.metrics)


def test_a_large_and_a_small_malloc_are_heap_in_use() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    pointers: list[int] = []

    def allocate() -> None:
        pointers.extend(libc.malloc(size) for size in (64 * MIB, *[1000] * 1000))

    moved = change(Heap(), allocate)
    for pointer in pointers:
        libc.free(ctypes.c_void_p(pointer))

    assert 65_000_000 + 2_000_000 < moved["heap.used"] < 70_000_000


def test_a_tensor_that_is_touched_is_anonymous_memory_and_one_that_is_not_is_only_mapped() -> None:
    touched = change(ProcessMemory(), lambda: torch.ones(16 * MIB))
    untouched = change(ProcessMemory(), lambda: torch.empty(16 * MIB))

    assert touched["rss.anon"] > 60 * MIB
    assert untouched["rss.anon"] < 8 * MIB
    assert untouched["mapped.private"] > 60 * MIB


def test_shared_memory_is_told_from_the_processs_own() -> None:
    def map_shared() -> mmap.mmap:
        shared = mmap.mmap(-1, 32 * MIB)
        shared.write(b"x" * (32 * MIB))
        return shared

    moved = change(ProcessMemory(), map_shared)

    assert moved["rss.shared"] > 30 * MIB
    assert moved["rss.anon"] < 33 * MIB


def test_unique_memory_grows_with_what_only_this_process_has() -> None:
    assert change(UniqueMemory(), lambda: torch.ones(16 * MIB))["rss.unique"] > 60 * MIB


def test_python_objects_are_counted_and_weighed() -> None:
    def make() -> list[tuple[int, int]]:
        return [(k, -k - 1000) for k in range(10_000)]

    gc.collect()
    blocks = change(PythonBlocks(), make)["python.blocks"]
    size = change(PythonBytes(), make)["python.bytes"]

    assert 20_000 < blocks < 40_000
    assert 700_000 < size < 2_000_000  # a pair of 56 bytes and an integer of 32, each in its size class


def test_an_open_file_and_a_thread_are_counted() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)

    opened: list[int] = []
    descriptors = change(Resources(), lambda: opened.append(os.open(os.devnull, os.O_RDONLY)))["fds"]
    threads = change(Resources(), thread.start)["threads"]
    stop.set()
    thread.join()
    os.close(opened[0])

    assert descriptors == 1
    assert threads == 1


def test_a_child_is_counted_with_the_memory_that_only_it_has() -> None:
    code = "x = bytearray(50_000_000); print(flush=True); input()"
    instrument = Children()
    before = reading(instrument)
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    after = reading(instrument)
    child.communicate(b"\n")

    assert after["children.count"] - before["children.count"] == 1
    assert after["children.bytes"] - before["children.bytes"] > 50_000_000
    assert after["children.resident"] - before["children.resident"] > 50_000_000


class FakeBackend(SimpleNamespace):
    """A device of 1,000 bytes of which torch holds 300, 200 of them in tensors, and others 50."""

    initialized = True

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return self.initialized

    def device_count(self) -> int:
        return 1

    def memory_allocated(self, device: int) -> int:
        return 200

    def memory_reserved(self, device: int) -> int:
        return 300

    def mem_get_info(self, device: int) -> tuple[int, int]:
        assert self.initialized, "asking would have initialised the device"
        return 650, 1000


def test_device_memory_is_split_into_allocated_reserved_and_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "cuda", FakeBackend())

    assert reading(Accelerator()) == {"device.allocated": 200, "device.reserved": 300, "device.outside": 50}


def test_a_device_is_never_initialised_to_measure_it(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakeBackend(initialized=False)
    monkeypatch.setattr(torch, "cuda", backend)

    assert reading(Accelerator()) == {}


def test_a_device_that_came_with_the_programs_imports_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cuda", "xpu"):
        monkeypatch.setattr(torch, name, SimpleNamespace(is_available=lambda: False))
    before, absent = working_instruments((Resources, Accelerator))
    monkeypatch.setattr(torch, "xpu", FakeBackend())

    after, still_absent = with_late_accelerator(before, absent)

    assert [one.instrument for one in absent] == ["accelerator"]
    assert after[:-1] == before
    assert (after[-1].name, still_absent) == ("accelerator", ())


def test_settling_frees_cycles_and_counts_them() -> None:
    gc.collect()
    cycle: list[object] = []
    cycle.append(cycle)
    del cycle

    assert settle(collect=True) == 1
    assert settle(collect=True) == 0


def test_settling_without_collecting_leaves_cycles_alone() -> None:
    gc.collect()
    gc.disable()
    try:
        cycle: list[object] = []
        cycle.append(cycle)
        del cycle
        assert settle(collect=False) == 0
        assert gc.collect() == 1
    finally:
        gc.enable()


class SharedMemory:
    """A shared-memory file system and a clock, both moved by hand."""

    def __init__(self) -> None:
        self.bytes = 1000
        self.now = 0

    def files(self) -> SharedFiles:
        return SharedFiles(lambda: self.bytes, lambda: self.now)

    def steps(self, files: SharedFiles, count: int, *, ours: int, others_a_ns: int) -> list[int]:
        """*count* steps of 8 ns, each followed by 2 ns of readings; *ours* bytes come in each step."""
        told = []
        for _ in range(count):
            files.begin_step()
            self.bytes, self.now = self.bytes + ours + 8 * others_a_ns, self.now + 8
            told.append(files.read())
            self.bytes, self.now = self.bytes + 2 * others_a_ns, self.now + 2
        return told


def test_shared_memory_files_that_steps_leave_are_counted() -> None:
    machine = SharedMemory()
    files = machine.files()
    files.read()

    assert machine.steps(files, 4, ours=50, others_a_ns=0) == [1050, 1100, 1150, 1200]


def test_what_others_write_at_all_times_is_not_the_steps() -> None:
    machine = SharedMemory()
    files = machine.files()
    files.read()

    told = machine.steps(files, 40, ours=0, others_a_ns=5)

    assert told[10:] == [1000] * 30


def test_ours_is_told_from_others_where_both_write() -> None:
    machine = SharedMemory()
    files = machine.files()
    files.read()

    told = machine.steps(files, 40, ours=50, others_a_ns=5)

    assert [after - before for before, after in pairwise(told[10:])] == [50] * 29


def test_files_that_go_between_the_steps_that_made_them_are_gone() -> None:
    machine = SharedMemory()
    files = machine.files()
    files.read()

    told = []
    for _ in range(20):
        files.begin_step()
        machine.bytes, machine.now = machine.bytes + 70, machine.now + 8
        told.append(files.read())
        machine.bytes, machine.now = machine.bytes - 70, machine.now + 2

    assert told == [1070] * 20
