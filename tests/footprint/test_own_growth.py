"""The measurer's own growth inside the measured process: under 16 bytes a step, or it would be its own finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.capture import wire
from harness.capture.client import ForkServer
from harness.capture.runner import run_subject
from harness.capture.wire import Job
from harness.model.recording import Role

STEPS = 2000
SETTLED = 100
MOST_BYTES_A_STEP = 16


@pytest.mark.parametrize("role", ["plain", "ledger", "uncollected"])
def test_an_empty_step_grows_by_less_than_16_bytes(role: Role, tmp_path: Path) -> None:
    scenario = tmp_path / "empty.py"
    scenario.write_text("def step(i): pass\n")
    job = Job(
        path=str(scenario),
        name="empty",
        variant="step",
        role=role,
        warmup=0,
        first_stop=STEPS,
        seed=0,
        memory_limit_bytes=None,
    )

    with ForkServer(seed=0) as server:
        _, record = run_subject(server, job, decide=lambda gathering: wire.Go(until=0), timeout_s=300)

    assert record.steps == STEPS
    grown = 0.0
    for metric in ("heap.used", "python.bytes"):
        series = record.find(metric)
        assert series is not None
        settled = series.since(SETTLED)
        grown += (settled.values[-1] - settled.values[0]) / (settled.steps[-1] - settled.steps[0])
    assert grown < MOST_BYTES_A_STEP
