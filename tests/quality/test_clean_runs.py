"""Ordinary loops are not called leaks: each once. ``python -m tests.quality.clean_runs`` asks a thousand times."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.quality.clean_programs import ORDINARY, clean_programs
from tests.quality.clean_runs import CleanRun, run_clean, tasks

pytestmark = pytest.mark.slow

LOOPS = sorted(path.stem for path in ORDINARY.glob("*.py"))


@pytest.fixture(scope="module")
def outcomes() -> dict[str, CleanRun]:
    """All of them once, two at a time."""
    programs = clean_programs([str(ORDINARY)])
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        runs = [run for some in pool.map(run_clean, tasks(programs, len(programs))) for run in some]
    return {run.scenario: run for run in runs}


@pytest.mark.parametrize("loop", LOOPS)
def test_an_ordinary_loop_is_called_stable(outcomes: dict[str, CleanRun], loop: str) -> None:
    assert outcomes[loop].outcome == "stable", outcomes[loop].reasons


def test_there_are_at_least_twenty_of_them() -> None:
    assert len(LOOPS) >= 20
