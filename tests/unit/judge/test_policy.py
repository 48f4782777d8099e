"""The thresholds agree with one another."""

from __future__ import annotations

import pytest

from harness.judge.policy import DEFAULT
from harness.model.metric import METRICS


def test_checkpoints_rise_and_reach_every_horizon() -> None:
    assert list(DEFAULT.checkpoints) == sorted(set(DEFAULT.checkpoints))
    assert all(DEFAULT.horizon(m.name) <= DEFAULT.checkpoints[-1] for m in METRICS)


def test_a_flat_program_may_stop_at_a_checkpoint() -> None:
    assert DEFAULT.flat_after in DEFAULT.checkpoints
    assert DEFAULT.flat_after_cheap in DEFAULT.checkpoints


@pytest.mark.parametrize("metric", [m.name for m in METRICS])
def test_every_metric_has_a_least_effect_and_a_horizon(metric: str) -> None:
    assert DEFAULT.least_effect(metric) > 0
    assert DEFAULT.least_jump(metric) > 0
    assert DEFAULT.horizon(metric) >= DEFAULT.least_steps
