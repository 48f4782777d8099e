"""Each test leaves grad mode on, and no collector active."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from harness.gradients import GradientCollector


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    torch.set_num_threads(1)
    assert torch.is_grad_enabled()
    yield
    assert torch.is_grad_enabled()
    with GradientCollector(torch.ones(1, requires_grad=True), on_exit="keep"):
        pass
