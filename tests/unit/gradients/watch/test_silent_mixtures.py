"""Mixtures that torch takes without a word, and those that are meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness import GradientWatch
from harness.model.recording import FaultRecord

short, wide = torch.ones(8, 4), torch.ones(4, dtype=torch.float64)
column, row = torch.ones(16, 1), torch.ones(16)


def silent(step: Callable[[], object]) -> tuple[FaultRecord, ...]:
    with GradientWatch() as watch:
        step()
        watch.step()
    return watch.faults


def test_a_float64_tensor_that_promotes_another_is_named() -> None:
    (fault,) = silent(lambda: short * wide)

    assert (fault.fault, fault.reason, fault.raised) == ("dtype_mismatch", "silent", False)
    assert "short: float32 [8, 4] on cpu and wide: float64 [4] on cpu" in fault.explanation
    assert "wide is the float64 one" in fault.explanation


def test_two_devices_that_meet_without_an_error_are_named() -> None:
    weight = torch.ones(3, 4, device="meta")

    (fault,) = silent(lambda: torch.nn.functional.linear(short, weight))

    assert (fault.fault, fault.reason) == ("device_mismatch", "silent")
    assert "short: float32 [8, 4] on cpu and weight: float32 [3, 4] on meta" in fault.explanation


@pytest.mark.parametrize("crossing", [lambda: column - row, lambda: torch.nn.functional.mse_loss(column, row)])
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_column_that_meets_a_row_is_told_with_what_came_of_it(crossing: Callable[[], object]) -> None:
    (fault,) = silent(crossing)

    assert (fault.fault, fault.reason) == ("shape_mismatch", "silent")
    assert "column: float32 [16, 1] on cpu and row: float32 [16] on cpu" in fault.explanation
    assert "[16, 16]: every element with every element, 256 numbers instead of 16" in fault.explanation


@pytest.mark.parametrize(
    "meant",
    [
        lambda: short * 2.5,
        lambda: short * torch.tensor(2.5, dtype=torch.float64),
        lambda: short.double() * wide,
        lambda: short.to("meta"),
        lambda: torch.ones(3, device="meta") * torch.tensor(2.0),
        lambda: short.to(torch.float64),
        lambda: column - column.T,
        lambda: row[:, None] - row,
        lambda: short - torch.ones(4),
        lambda: column * torch.ones(16, 8),
        lambda: torch.ones(2, 1) - torch.ones(2),
    ],
)
def test_what_is_meant_is_no_fault(meant: Callable[[], object]) -> None:
    assert silent(meant) == ()
