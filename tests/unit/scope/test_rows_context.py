"""The rows on threads, tasks and generators: a scope is current where it was entered, and nowhere else."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from harness.errors import EscapedTensorsError, ScopeClosedError, ScopeContextError
from harness.ledger import Ledger
from harness.scope import ResourceScope, current, root


def test_row_21_64_threads_adopt_while_the_scope_closes_and_nothing_is_lost(ledger: Ledger) -> None:
    threads, each = 64, 20
    barrier = threading.Barrier(threads + 1)
    scope = ResourceScope("shared")
    adopted: list[torch.Tensor] = []
    rejected: list[torch.Tensor] = []
    wrong: list[BaseException] = []

    def work() -> None:
        barrier.wait()
        for _ in range(each):
            tensor = torch.ones(8)
            try:
                adopted.append(scope.adopt(tensor))
            except ScopeClosedError:
                rejected.append(tensor)
            except BaseException as error:
                wrong.append(error)

    pool = [threading.Thread(target=work) for _ in range(threads)]
    for thread in pool:
        thread.start()
    barrier.wait()
    scope.close()
    for thread in pool:
        thread.join()

    assert wrong == []
    assert len(adopted) + len(rejected) == threads * each
    assert sum(escape.storages for escape in scope.escapes) == sum(1 for move in [*adopted])
    assert scope.dump().storages == 0


def test_row_21_each_of_64_threads_has_a_scope_of_its_own(ledger: Ledger) -> None:
    def work(i: int) -> tuple[str, dict[str, int], str]:
        with ResourceScope(f"worker{i}") as scope:
            kept = [torch.ones(i + 1) for _ in range(5)]
            found = scope.live().bytes
            kept.clear()
            return current().path, found, scope.path

    with ThreadPoolExecutor(64) as pool:
        results = list(pool.map(work, range(64)))

    for i, (inside, found, path) in enumerate(results):
        assert inside == path
        assert found == {"cpu": 5 * 4 * (i + 1)}


def test_row_22_a_new_thread_starts_at_the_root_unless_the_scope_runs_it(ledger: Ledger) -> None:
    with ResourceScope("outer") as outer:
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.append(current().path))
        thread.start()
        thread.join()

        kept = outer.run_in_thread(lambda: (current().path, torch.ones(10))).result()

        assert seen == ["root"]
        assert kept[0] == outer.path
        assert outer.dump().bytes == {"cpu": 40}
        del kept


def test_row_22_what_a_backward_allocates_belongs_to_the_scope_that_started_it(ledger: Ledger) -> None:
    born: list[torch.Tensor] = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            born.append(torch.ones(777))
            return gradient

    x = torch.ones(5, requires_grad=True)
    with ResourceScope("outer") as outer, ResourceScope("step"):
        loss = Keep.apply(x).sum()  # type: ignore[no-untyped-call]
        with outer.child("backward") as backward:
            loss.backward()
            assert backward.live().bytes["cpu"] >= 4 * 777
        born.clear()
        x.grad = None
        del loss


def test_row_22_torchs_own_threads_belong_to_the_scope_that_started_them_or_to_the_root(ledger: Ledger) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made = torch.jit.script(make)
    elsewhere = []

    with ResourceScope("outer") as outer:
        elsewhere.append(made(1000))
        (key,) = (key for key in ledger.storage_keys() if key == ledger.key_of(elsewhere[0]))

        # The dispatcher hands its modes to such a thread; the native ledger knows only that it is not one of ours.
        assert ledger.scope_of(key) == (outer_number(outer) if ledger.source == "dispatch" else 0)
        elsewhere.clear()


def make(n: int) -> torch.Tensor:
    made: torch.Tensor = torch.jit.wait(torch.jit.fork(torch.ones, [n]))
    return made


def outer_number(scope: ResourceScope) -> int:
    return int(scope.path.rpartition("#")[2])


def test_row_22_an_exception_in_a_thread_of_the_scope_comes_out_of_its_future(ledger: Ledger) -> None:
    def fail() -> None:
        raise KeyError("mine")

    with ResourceScope("outer") as outer:
        future = outer.run_in_thread(fail)

        assert isinstance(future.exception(), KeyError)
        del future


def test_row_22_awaiting_gives_each_task_its_own_allocations(ledger: Ledger) -> None:
    async def request(scope: ResourceScope, size: int, kept: list[torch.Tensor]) -> None:
        for _ in range(3):
            kept.append(torch.ones(size))
            await asyncio.sleep(0)
            assert current().path == scope.path

    async def handle(name: str, size: int) -> dict[str, int]:
        kept: list[torch.Tensor] = []
        with ResourceScope(name) as scope:
            await scope.awaiting(request(scope, size, kept))
            kept.append(torch.ones(size))
            found = scope.dump().bytes
            kept.clear()
            return found

    async def main() -> list[dict[str, int]]:
        return await asyncio.gather(*(handle(f"task{i}", 10 * (i + 1)) for i in range(4)))

    assert asyncio.run(main()) == [{"cpu": 4 * 40 * (i + 1)} for i in range(4)]


def test_row_22_a_scope_that_crosses_an_await_is_an_error_and_never_a_wrong_owner(ledger: Ledger) -> None:
    owners: list[str] = []
    kept: list[torch.Tensor] = []

    async def careless() -> None:
        with ResourceScope("careless") as scope:
            await asyncio.sleep(0)
            owners.append(str(scope.dump().storages))

    async def other() -> None:
        kept.append(torch.ones(10))
        owners.append(current().path)

    async def main() -> list[BaseException | None]:
        return list(await asyncio.gather(careless(), other(), return_exceptions=True))

    first, second = asyncio.run(main())

    assert isinstance(first, ScopeContextError)
    assert "crossed an await" in str(first)
    assert "scope.awaiting" in first.help
    assert second is None
    assert owners == ["root", "0"]


def test_row_22_scopes_opened_in_tasks_that_interleave_properly_are_silent(ledger: Ledger) -> None:
    async def worker(i: int) -> str:
        with ResourceScope(f"w{i}", on_escape="raise") as scope:
            for _ in range(3):
                await scope.awaiting(asyncio.sleep(0))
                with ResourceScope("inner", on_escape="raise"):
                    torch.ones(5)
            return scope.path

    async def main() -> list[str]:
        with ResourceScope("server") as server:
            return list(await server.awaiting(asyncio.gather(*(worker(i) for i in range(8)))))

    assert len(asyncio.run(main())) == 8


def test_row_22_iterate_keeps_the_loops_body_out_of_the_generators_scope(ledger: Ledger) -> None:
    def produce() -> Iterator[torch.Tensor]:
        for i in range(3):
            with ResourceScope("inner", on_escape="raise") as inner:
                assert inner.path.startswith("root/producer/inner#")
                made = torch.ones(i + 1)
                producer.adopt(made)
                yield made
                del made

    producer = ResourceScope("producer")
    paths = set()
    for item in producer.iterate(produce()):
        paths.add(current().path)
        body = torch.ones(100)
        assert 1 <= producer.dump().bytes["cpu"] // 4 < 100
        del body, item

    assert paths == {"root"}
    producer.close()


def test_row_22_scopes_left_out_of_order_are_an_error_at_once(ledger: Ledger) -> None:
    def suspended() -> Iterator[int]:
        with ResourceScope("inner"):
            yield 1

    generator = suspended()

    with (
        pytest.raises(ScopeContextError, match=r"outer#\d+ is left while root/outer/inner#\d+"),
        ResourceScope("outer"),
    ):
        next(generator)

    assert current().path == "root"
    with pytest.raises(ScopeContextError, match="left where it was not entered"):
        next(generator)


def test_row_22_the_pop_happens_on_every_way_out(ledger: Ledger) -> None:
    with pytest.raises(EscapedTensorsError), ResourceScope("a", on_escape="raise"):
        kept = torch.ones(3)

    assert current().path == "root"
    del kept


def test_row_31_a_stream_that_is_left_early_is_closed_for_certain(ledger: Ledger) -> None:
    log: list[str] = []

    def stream() -> Iterator[torch.Tensor]:
        try:
            while True:
                yield torch.ones(4)
        finally:
            log.append(current().path)

    def use(scope: ResourceScope) -> None:
        for _ in scope.iterate(stream()):
            break

    with ResourceScope("stream", on_escape="raise") as scope:
        use(scope)

        assert log == [scope.path]


def test_row_31_an_asynchronous_stream_is_closed_for_certain(ledger: Ledger) -> None:
    log: list[str] = []

    async def stream() -> AsyncIterator[torch.Tensor]:
        try:
            while True:
                yield torch.ones(4)
                await asyncio.sleep(0)
        finally:
            log.append("closed")

    async def main() -> int:
        count = 0
        with ResourceScope("stream", on_escape="raise") as scope:
            items = scope.iterate(stream())
            async for item in items:
                count += int(item.sum())
                del item
                if count == 12:
                    break
            await items.aclose()  # type: ignore[attr-defined]
        return count

    assert asyncio.run(main()) == 12
    assert log == ["closed"]


def test_row_31_an_output_outlives_its_call_by_keep(ledger: Ledger) -> None:
    with ResourceScope("predictor") as predictor:

        def predict() -> torch.Tensor:
            with predictor.child("call", on_escape="raise") as call:
                out = torch.ones(5) * 2
                return call.keep(out)

        result = predict()

        assert result.sum() == 10
        assert predictor.dump().bytes == {"cpu": 20}
        del result
    assert root().escapes == ()
