"""Row 25 of the behaviours: one collector a context, and grad mode as it was, on every way out."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context

import pytest
import torch

from harness.errors import GradientContextError
from harness.gradients import GradientCollector
from tests.unit.gradients.leaves import hooks_on, leaf


def test_row_25_a_second_collector_inside_the_first_is_refused_and_changes_nothing() -> None:
    weight = leaf()
    with GradientCollector(weight, on_exit="keep") as first:
        torch.set_grad_enabled(False)

        with pytest.raises(GradientContextError) as caught, GradientCollector(weight, on_exit="zero"):
            pytest.fail("it was entered")

        assert not torch.is_grad_enabled()
        assert f"entered at {__file__}:" in str(caught.value)
        assert "Leave the first" in caught.value.help
        torch.set_grad_enabled(True)
        first.backward(weight.sum())

    assert weight.grad is not None
    assert weight.grad.tolist() == [1, 1, 1]


def test_row_25_a_refused_collector_does_not_keep_the_next_one_out() -> None:
    weight = leaf()
    with GradientCollector(weight, on_exit="keep") as first:
        with pytest.raises(GradientContextError):
            first.__enter__()
        first.backward(weight.sum())

    with first, pytest.raises(GradientContextError), GradientCollector(weight, on_exit="keep"):
        pass
    with GradientCollector(weight, on_exit="keep") as next_one:
        next_one.backward(weight.sum())


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_row_25_grad_mode_is_on_inside_and_as_it_was_afterwards(before: bool, inside: bool) -> None:
    weight = leaf()
    with torch.set_grad_enabled(before):
        with GradientCollector(weight, on_exit="none") as collector:
            assert torch.is_grad_enabled()
            collector.backward((weight * weight).sum())
            torch.set_grad_enabled(inside)

        assert torch.is_grad_enabled() is before


def body_raises(collector: GradientCollector, weight: torch.Tensor) -> None:
    raise KeyError("mine")


def backward_is_refused(collector: GradientCollector, weight: torch.Tensor) -> None:
    collector.backward(weight * 2)


def backward_raises(collector: GradientCollector, weight: torch.Tensor) -> None:
    loss = weight.exp().sum()
    collector.backward(loss)
    collector.backward(loss)


def exit_check_fails(collector: GradientCollector, weight: torch.Tensor) -> None:
    collector.backward((weight * math.nan).sum())


@pytest.mark.parametrize("body", [body_raises, backward_is_refused, backward_raises, exit_check_fails])
@pytest.mark.parametrize("before", [True, False])
def test_row_25_grad_mode_is_restored_on_every_way_out(
    before: bool, body: Callable[[GradientCollector, torch.Tensor], None]
) -> None:
    weight = leaf()
    collector = GradientCollector(weight, on_exit="none")

    with torch.set_grad_enabled(before):
        with pytest.raises((KeyError, RuntimeError)), collector:
            body(collector, weight)

        assert torch.is_grad_enabled() is before
    assert weight.grad is None
    assert hooks_on(weight) == 0


def test_row_25_each_thread_has_a_collector_of_its_own() -> None:
    def train(i: int) -> float:
        weight = leaf()
        with torch.no_grad(), GradientCollector(weight, on_exit="keep") as collector:
            collector.backward((weight * i).sum())
        assert weight.grad is not None
        return float(weight.grad[0])

    with GradientCollector(leaf(), on_exit="keep"), ThreadPoolExecutor(4) as pool:
        # With copies of this context, in which a collector is active: not in those threads.
        futures = [pool.submit(copy_context().run, train, i) for i in range(8)]

        assert [future.result() for future in futures] == [float(i) for i in range(8)]


def test_row_25_one_collector_is_not_entered_by_two_threads_at_once() -> None:
    weight = leaf()
    with ThreadPoolExecutor(1) as pool, GradientCollector(weight, on_exit="none") as collector:
        with pytest.raises(GradientContextError, match="entered already"):
            pool.submit(collector.__enter__).result()
        collector.backward(weight.sum())

    assert weight.grad is None


def test_row_25_tasks_that_overlap_each_have_one_and_leave_grad_mode_as_it_was() -> None:
    modes: list[bool] = []

    async def train(turns: int) -> None:
        with GradientCollector(leaf(), on_exit="keep"):
            for _ in range(turns):
                await asyncio.sleep(0)
                modes.append(torch.is_grad_enabled())

    async def main() -> None:
        await asyncio.gather(train(1), train(3), train(2))

    with torch.no_grad():
        asyncio.run(main())

        assert not torch.is_grad_enabled()
    assert modes == [True] * 6


def test_row_25_tasks_and_threads_that_start_inside_a_tasks_block_have_their_own() -> None:
    def train() -> bool:
        with GradientCollector(leaf(), on_exit="keep"):
            return torch.is_grad_enabled()

    async def task() -> bool:
        return train()

    async def main() -> tuple[bool, bool]:
        with GradientCollector(leaf(), on_exit="keep"):
            return await asyncio.create_task(task()), await asyncio.to_thread(train)

    assert asyncio.run(main()) == (True, True)


def test_row_25_a_collector_around_an_event_loop_is_active_in_its_tasks() -> None:
    async def train() -> None:
        with GradientCollector(leaf(), on_exit="keep"):
            pass

    with GradientCollector(leaf(), on_exit="keep"), pytest.raises(GradientContextError, match="already"):
        asyncio.run(train())


def test_row_25_another_context_of_the_thread_gives_back_the_mode_that_it_found() -> None:
    def train() -> None:
        with GradientCollector(leaf(), on_exit="keep"):
            assert torch.is_grad_enabled()

    with GradientCollector(leaf(), on_exit="keep"), torch.no_grad():
        Context().run(train)

        assert not torch.is_grad_enabled()


def test_row_25_inference_mode_is_refused_because_no_graph_would_be_recorded() -> None:
    with torch.inference_mode():
        with pytest.raises(GradientContextError, match="inference mode"), GradientCollector(leaf(), on_exit="keep"):
            pytest.fail("it was entered")

        assert not torch.is_grad_enabled()


def test_row_25_a_collector_left_in_another_thread_says_so_and_leaves_that_threads_mode() -> None:
    collector = GradientCollector(leaf(), on_exit="keep")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(collector.__enter__).result()
        with torch.no_grad(), pytest.raises(GradientContextError, match="left in another thread"):
            try:
                collector.__exit__(None, None, None)
            finally:
                assert not torch.is_grad_enabled()
