"""An exception from torch is recognised by what torch really says, so each is really raised here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.capture.fault_table import fault_of, is_out_of_memory


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
