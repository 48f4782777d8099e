"""The program for each test, by either walk."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from harness.retainers import heap_walk
from tests.unit.retainers.program import Program


@pytest.fixture(scope="module", autouse=True)
def thawed_afterwards() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def frozen_heap() -> None:
    """What was there before is no part of the program. It stays frozen from test to test: a collection that walks all
    that pytest and torch have made takes half a second."""
    gc.collect()
    gc.freeze()


_IN_PYTHON = pytest.param("python", marks=[pytest.mark.slow] if heap_walk.is_native() else [])
"""The walk in Python takes ten times as long: with the slow tests, where there is one in C. That both meet the same
objects is in each run of the tests (test_heap_walk.py)."""


@pytest.fixture(params=["native", _IN_PYTHON])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Program:
    if request.param == "python":
        monkeypatch.setattr(heap_walk, "_native", None)
        monkeypatch.setattr("harness.retainers.naming._key_of", None)
        monkeypatch.setattr("harness.retainers.roots._threads", None)
    elif not heap_walk.is_native():
        pytest.skip("the C walk was not built: there was no compiler")
    return Program(monkeypatch)
