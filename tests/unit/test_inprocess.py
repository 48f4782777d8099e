"""Measuring in the program's own process: verdicts from exact counts, and nothing left behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch
import torch.optim.optimizer as optimizer_module
from torch.utils._python_dispatch import _get_current_dispatch_mode

import harness
from harness.errors import UsageError

STEPS = 48


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """Neither a dispatch mode, nor a frozen heap, nor a hook may outlive a measurement."""
    frozen = gc.get_freeze_count()
    hooks = len(optimizer_module._global_optimizer_pre_hooks)
    yield
    assert _get_current_dispatch_mode() is None
    assert gc.get_freeze_count() == frozen
    assert len(optimizer_module._global_optimizer_pre_hooks) == hooks


def test_a_list_that_keeps_tensors_is_a_leak_at_its_line() -> None:
    kept: list[torch.Tensor] = []

    def step(i: int) -> None:
        kept.append(torch.ones(100))

    (run,) = harness.run(step, steps=STEPS).runs

    (finding,) = run.findings
    assert run.outcome == "leak"
    assert finding.cause == "held_reference"
    assert finding.tensor_bytes_per_step == 400
    assert finding.allocated_at[0].path == __file__
    assert finding.allocated_at[0].source == "kept.append(torch.ones(100))"


def test_both_halves_are_run_and_compared() -> None:
    step, fixed = harness.run(
        lambda: [torch.ones(100) for _ in range(4)], fixed_step=lambda: torch.ones(100), steps=STEPS
    ).runs

    assert (step.outcome, fixed.outcome) == ("stable", "stable")
    assert (step.variant, fixed.variant) == ("step", "fixed_step")
    assert step.comparison is not None
    assert step.comparison.allocation_ratio == 4.0


def test_a_block_of_a_program_is_judged_by_the_steps_it_marks() -> None:
    with harness.detect() as detection:
        for _ in range(STEPS):
            torch.ones(100).sum()
            detection.step()

    assert detection.run.outcome == "stable"
    assert detection.run.steps == STEPS


def test_a_gradient_that_is_never_zeroed_is_told() -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with harness.detect() as detection:
        for _ in range(STEPS):
            model(torch.ones(4, 3)).sum().backward()
            optimizer.step()
            detection.step()

    assert any("never zeroed" in note for note in detection.run.notes)


def test_a_step_that_raises_ends_its_half_and_is_reported() -> None:
    def step(i: int) -> None:
        if i == 5:
            raise ValueError("bad batch")

    (run,) = harness.run(step).runs

    assert run.outcome == "failed"
    assert run.ending.status == "raised"
    assert "bad batch" in str(run.ending.detail)
    assert run.steps == 5


def test_an_exception_in_a_detected_block_comes_through() -> None:
    detection = harness.detect()

    def block() -> None:
        with detection:
            detection.step()
            raise ValueError("bad batch")

    with pytest.raises(ValueError, match="bad batch"):
        block()

    assert detection.run.ending.status == "raised"


def test_set_up_and_tear_down_run_once_also_when_a_step_raises() -> None:
    calls: list[str] = []

    def step() -> None:
        calls.append("step")
        raise ValueError("bad batch")

    harness.run(step, setup=lambda: calls.append("setup"), teardown=lambda: calls.append("teardown"))

    assert calls == ["setup", "step", "teardown"]


def test_the_verdict_cannot_be_had_too_early() -> None:
    with harness.detect() as detection, pytest.raises(UsageError, match="after the with block"):
        _ = detection.run


@pytest.mark.parametrize("steps", [0, -3])
def test_measuring_nothing_is_refused(steps: int) -> None:
    with pytest.raises(UsageError, match="nothing would be measured"):
        harness.run(lambda: None, steps=steps)


def test_the_holder_is_named_without_a_process_of_its_own() -> None:
    history: list[torch.Tensor] = []

    with harness.detect() as detection:
        for _ in range(60):
            history.append(torch.ones(100))
            detection.step()

    (finding,) = detection.run.findings
    assert finding.held_by is not None
    assert finding.held_by.text.endswith("local history: list > [*]")
    assert finding.explanation.startswith("history keeps the tensors allocated at line")
