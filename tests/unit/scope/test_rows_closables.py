"""The rows on what a scope owns besides tensors of torch's: closables, and memory of others."""

from __future__ import annotations

import mmap
import multiprocessing
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import torch

from harness.errors import (
    UsageError,
    UseAfterCloseError,
)
from harness.ledger import Ledger
from harness.scope import ResourceScope


def test_row_14_handles_iterators_and_files_end_with_the_scope(ledger: Ledger, tmp_path: Any) -> None:
    model = torch.nn.Linear(2, 2)
    calls = []
    generator = (i for i in range(3))
    next(generator)

    with ResourceScope("work") as scope:
        scope.own(model.register_forward_hook(lambda *_: calls.append(1)))
        file = scope.own((tmp_path / "log").open("w"))
        scope.own(generator)
        model(torch.ones(1, 2))

    model(torch.ones(1, 2))
    assert calls == [1]
    assert file.closed
    assert list(generator) == []


def test_row_14_pools_and_executors_end_with_the_scope(ledger: Ledger) -> None:
    with ResourceScope("work") as scope:
        executor = scope.own(ThreadPoolExecutor(2))
        assert executor.submit(len, "abc").result() == 3
        pool = scope.own(multiprocessing.get_context("fork").Pool(1))
        assert pool.apply(len, ("abc",)) == 3
        (worker,) = pool._pool  # type: ignore[attr-defined]

        process = scope.own(subprocess.Popen(["sleep", "1000"]))

    with pytest.raises(RuntimeError, match="shutdown"):
        executor.submit(len, "abc")
    assert not worker.is_alive()
    assert process.returncode == -signal.SIGTERM


def test_row_14_a_loaders_workers_end_with_the_scope(ledger: Ledger) -> None:
    loader: Any = torch.utils.data.DataLoader(list(range(8)), num_workers=1)  # type: ignore[arg-type]

    with ResourceScope("work") as scope:
        iterator: Any = scope.own(iter(loader))
        next(iterator)
        (worker,) = iterator._workers
        assert worker.is_alive()

    assert not worker.is_alive()


def test_row_14_a_graph_of_a_device_is_reset(ledger: Ledger) -> None:
    class Graph:  # what torch.cuda.CUDAGraph offers; the real one needs a device
        was_reset = False

        def replay(self) -> None: ...

        def reset(self) -> None:
            self.was_reset = True

    with ResourceScope("work") as scope:
        graph = scope.own(Graph())

    assert graph.was_reset


def test_row_14_a_mapping_under_a_living_tensor_is_not_closed_and_is_told(ledger: Ledger) -> None:
    mapping = mmap.mmap(-1, 4096)
    tensor = torch.frombuffer(mapping, dtype=torch.uint8)

    with ResourceScope("work") as scope:
        scope.own(mapping)

    assert not mapping.closed
    assert tensor.sum() == 0
    (held,) = scope.dump().held
    assert held == "mmap of 4096 bytes, under 1 living tensor"
    del tensor
    mapping.close()


def test_row_14_a_mapping_that_nobody_reads_is_closed(ledger: Ledger) -> None:
    mapping = mmap.mmap(-1, 4096)

    with ResourceScope("work") as scope:
        scope.own(mapping)

    assert mapping.closed


def test_row_14_tensors_that_are_owned_are_held_and_then_closed(ledger: Ledger) -> None:
    with ResourceScope("work", on_escape="raise") as scope:
        scope.own(torch.ones(10))
        named = scope.own(torch.ones(20))

        assert scope.dump().bytes == {"cpu": 120}

    with pytest.raises(UseAfterCloseError):
        named.sum()


def test_row_14_what_cannot_be_closed_is_refused(ledger: Ledger) -> None:
    with ResourceScope("work") as scope, pytest.raises(UsageError, match="none of the methods that end something"):
        scope.own(3)


def test_row_17_foreign_storages_are_counted_apart(ledger: Ledger) -> None:
    array = numpy.zeros(100, dtype=numpy.float32)
    with ResourceScope("work") as scope:
        shared = scope.adopt(torch.ones(10).share_memory_())
        foreign = scope.adopt(torch.from_numpy(array))
        own = torch.ones(5)

        dump = scope.dump()

        assert dump.foreign["foreign memory"] == 400
        assert dump.bytes.get("cpu", 0) <= 60
        del shared, foreign, own
        assert scope.dump().foreign == {}


@pytest.mark.parametrize("kind", ["numpy", "bytes", "DLPack", "file", "shared"])
def test_row_17_each_kind_of_foreign_memory_is_told_apart_from_torchs_own(
    ledger: Ledger, kind: str, tmp_path: Any
) -> None:
    (tmp_path / "weights").write_bytes(bytes(400))
    array = numpy.zeros(100, dtype=numpy.float32)
    makers: dict[str, Callable[[], torch.Tensor]] = {
        "numpy": lambda: torch.from_numpy(array),
        "bytes": lambda: torch.frombuffer(bytearray(400), dtype=torch.float32),
        "DLPack": lambda: torch.utils.dlpack.from_dlpack(array),
        "file": lambda: torch.from_file(str(tmp_path / "weights"), size=100),
        "shared": lambda: torch.ones(100).share_memory_(),
    }
    with ResourceScope("work") as scope:
        tensor = scope.adopt(makers[kind]())

        dump = scope.dump()

        assert dump.bytes == {}
        told = "mapped or shared memory" if kind in ("file", "shared") else "foreign memory"
        assert dump.foreign == {told: 400}
        del tensor
