"""Random programs: at every moment the native ledger says what the living storages weigh, to the byte."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.ledger import why_not_native

if (_why_not := why_not_native()) is not None:
    pytest.skip(f"no native ledger: {_why_not}", allow_module_level=True)

from harness.ledger.native_ledger import NativeLedger

Pool = list[torch.Tensor]
Work = Callable[[Pool, int, int], None]


def allocate(pool: Pool, which: int, size: int) -> None:
    pool.append(torch.empty(size))


def view(pool: Pool, which: int, size: int) -> None:
    if pool:
        whole = pool[which % len(pool)]
        pool.append(whole.detach()[: max(1, whole.numel() // 2)])


def free(pool: Pool, which: int, size: int) -> None:
    if pool:
        del pool[which % len(pool)]


def resize(pool: Pool, which: int, size: int) -> None:
    resizable = [tensor for tensor in pool if not tensor.requires_grad]
    if resizable:
        resizable[which % len(resizable)].resize_(size)


def clone(pool: Pool, which: int, size: int) -> None:
    if pool:
        pool.append(pool[which % len(pool)].detach().clone())


def backward(pool: Pool, which: int, size: int) -> None:
    """What is left of it is the leaf's storage and the gradient, neither of which holds the other."""
    leaf = torch.ones(size, requires_grad=True)
    (leaf * 2).sum().backward()
    assert leaf.grad is not None
    gradient, leaf.grad = leaf.grad, None
    pool.extend((leaf.detach(), gradient))


def in_a_thread(pool: Pool, which: int, size: int) -> None:
    thread = threading.Thread(target=allocate, args=(pool, which, size))
    thread.start()
    thread.join()


WORKS: tuple[Work, ...] = (allocate, view, free, resize, clone, backward, in_a_thread)


def weight(pool: Pool) -> tuple[int, int]:
    """Storages and bytes that the pool keeps alive, each storage once."""
    storages: dict[int, Any] = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in pool}
    return len(storages), sum(storages.values())


@given(st.lists(st.tuples(st.sampled_from(WORKS), st.integers(0, 100), st.integers(1, 5000)), max_size=60))
@settings(max_examples=100, deadline=None)
def test_live_storages_and_bytes_are_those_of_the_program(program: list[tuple[Work, int, int]]) -> None:
    pool: Pool = []
    with NativeLedger(depth=2).start() as ledger:
        for work, which, size in program:
            work(pool, which, size)
            live = ledger.live()

            assert (live.storages, live.total_bytes) == weight(pool)

        keys = ledger.storage_keys()
        assert keys.keys() == {ledger.key_of(tensor) for tensor in pool}
        told = ledger.changed_sites()
        assert sum(state.bytes for state in told) == weight(pool)[1]
        pool.clear()
        assert ledger.live().storages == 0


@given(st.lists(st.lists(st.integers(1, 2000), max_size=30), min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_threads_together_are_counted_like_one_after_the_other(sizes: list[list[int]]) -> None:
    pools: list[Pool] = [[] for _ in sizes]
    with NativeLedger(depth=2).start() as ledger:
        start = ledger.mark()
        threads = [
            threading.Thread(target=lambda p=pool, s=mine: p.extend(torch.empty(n) for n in s))
            for pool, mine in zip(pools, sizes, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert ledger.allocations(start) == sum(len(mine) for mine in sizes)
        assert ledger.live().total_bytes == 4 * sum(map(sum, sizes))
        assert ledger.peak_bytes(start).get("cpu", 0) == 4 * sum(map(sum, sizes))
        pools.clear()
        threads.clear()
