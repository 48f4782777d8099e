"""The watch over whole training loops: each planted fault by its name, and nothing of healthy ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness import GradientWatch
from harness.model.recording import FaultRecord
from tests.unit.gradients.watch.programs import HEALTHY, MUTATED, Step, seeded

STEPS = 5


def faults_of(make: Callable[[], Step]) -> tuple[FaultRecord, ...]:
    with seeded():
        step = make()
        with GradientWatch() as watch:
            for _ in range(STEPS):
                step()
                watch.step()
    return watch.faults


@pytest.mark.parametrize(
    ("make", "fault", "reason", "about"), MUTATED, ids=[make.__name__ for make, _, _, _ in MUTATED]
)
def test_a_planted_fault_is_named_with_its_reason_its_parameters_and_its_line(
    make: Callable[[], Step], fault: str, reason: str, about: tuple[str, ...]
) -> None:
    found = faults_of(make)

    told = [(f.fault, f.reason) for f in found]
    assert (fault, reason) in told
    record = found[told.index((fault, reason))]
    assert all(name.startswith(about) for name in record.parameters), record.parameters
    assert bool(record.parameters) == bool(about)
    assert record.path == make.__code__.co_filename
    assert record.line is not None


@pytest.mark.parametrize("make", HEALTHY, ids=lambda make: make.__name__)
def test_nothing_is_said_of_a_healthy_loop(make: Callable[[], Step]) -> None:
    assert faults_of(make) == ()


def test_gradients_that_are_never_zeroed_are_told_with_the_factor() -> None:
    with seeded():
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([weight], lr=0.01)
        with GradientWatch() as watch:
            for _ in range(4):
                weight.square().sum().backward()
                optimizer.step()
                watch.step()

    assert [(fault.fault, fault.factor) for fault in watch.faults] == [("gradients_not_zeroed", 4)]
