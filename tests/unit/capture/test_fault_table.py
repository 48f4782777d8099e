"""An exception from torch is recognised by what torch really says, so each is really raised here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.capture.fault_table import fault_of, is_out_of_memory
from harness.gradients import GradientCollector


def raised_by(body: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one it is, is what is tested
        body()
    return caught.value


def leaf(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, requires_grad=True)


def saved_then_changed() -> None:
    x = leaf(3)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("device_mismatch", lambda: torch.ones(3) + torch.ones(3, device="meta")),
        ("shape_mismatch", lambda: torch.ones(2, 3) @ torch.ones(4, 5)),
        ("shape_mismatch", lambda: torch.ones(2, 3) + torch.ones(4, 5)),
        ("shape_mismatch", lambda: torch.ones(6).reshape(4, 2)),
        ("dtype_mismatch", lambda: torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)),
        ("dtype_mismatch", lambda: torch.arange(1, 5).requires_grad_()),
        ("dtype_mismatch", lambda: torch.arange(1, 5).mean()),
        ("non_scalar_loss", lambda: (leaf(3) * 2).backward()),
        ("null_gradient", lambda: torch.ones(3).sum().backward()),
        ("in_place_on_graph", saved_then_changed),
        ("in_place_on_graph", lambda: leaf(3).add_(1)),
    ],
)
def test_what_torch_raises_is_named(fault: str, body: Callable[[], object]) -> None:
    record = fault_of(raised_by(body), step=3)

    assert record is not None
    assert record.fault == fault
    assert record.raised
    assert record.step == 3
    assert record.path == __file__


def test_what_a_gradient_collector_raises_says_itself_which_fault_it_is_and_its_factor() -> None:
    def accumulate() -> None:
        weight = leaf(3)
        with GradientCollector(weight, on_exit="fail_if_stale") as collector:
            for _ in range(3):
                collector.backward(weight.sum())

    record = fault_of(raised_by(accumulate), step=0)

    assert record is not None
    assert (record.fault, record.factor, record.path) == ("gradients_not_zeroed", 3, __file__)
    assert record.explanation.endswith("3 times what they should be (parameters[0])")


def test_a_collectors_error_is_the_fault_that_it_names_whatever_words_it_uses() -> None:
    def detached() -> None:
        weight = leaf(3)
        with GradientCollector({"shape": weight}, on_exit="keep") as collector:
            collector.backward(weight.detach().sum())

    record = fault_of(raised_by(detached), step=0)

    assert record is not None
    assert (record.fault, record.factor) == ("null_gradient", None)


def test_an_error_of_the_users_own_is_no_fault_of_ours() -> None:
    assert fault_of(ValueError("bad batch"), step=0) is None


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried ..."),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_running_out_of_memory_is_recognised_in_each_ones_words(error: BaseException) -> None:
    assert is_out_of_memory(error)


def test_another_runtime_error_is_not_running_out_of_memory() -> None:
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
