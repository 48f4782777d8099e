"""Each test has a ledger of its own, of either source, and leaves no scope, mode or slot behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from harness.ledger import Ledger, start_ledger, why_not_native
from harness.ledger.current import running
from harness.scope import current, open_scopes
from harness.scope.outliving import OUTLIVING
from harness.scope.quarantine import QUARANTINE


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module", autouse=True)
def frozen_heap() -> Iterator[None]:
    """The collection after each test is for what the test made: all that pytest and torch have made takes 0.2 s."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(params=["native", "dispatch"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    reason = why_not_native() if request.param == "native" else None
    if reason is not None:
        pytest.skip(f"the native ledger does not work here: {reason}")
    with start_ledger(source=request.param) as started:
        yield started


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    yield
    gc.collect()
    left = [scope.path for scope in open_scopes()]
    OUTLIVING.clear()
    QUARANTINE.settle()
    assert left == []
    assert current().path == "root"
    assert running() is None
    assert _get_current_dispatch_mode_stack() == []
