"""The detector's own error rates, on seeded programs that go through the whole judgement, checkpoints and all.

At least 2,000 clean and 2,000 leaking ones, spread evenly over the families of :mod:`tests.quality.families`. The
seeds are fixed, so a failure is a change of the judgement and never chance, and they are others than those that the
thresholds were tuned on (below 40,000): the families are the same, so the rates hold for programs of these kinds.
``python -m tests.quality.error_rates`` prints the table by family, with kinds for which nothing is promised.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from tests.quality.error_rates import Rate, measure
from tests.quality.families import CLEAN, LEAKING

pytestmark = pytest.mark.slow

LEAST_PROGRAMS = 2000
FIRST_SEED = 7_000_000


def _rate(name: str, *, leaking: bool, programs: int) -> Rate:
    return measure((LEAKING if leaking else CLEAN)[name], leaking=leaking, programs=programs, first_seed=FIRST_SEED)


def rates(*, leaking: bool) -> dict[str, Rate]:
    """The rate of each family, on all cores."""
    families = LEAKING if leaking else CLEAN
    programs = -(-LEAST_PROGRAMS // len(families))
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        work = partial(_rate, leaking=leaking, programs=programs)
        return dict(zip(families, pool.map(work, families), strict=True))


def wrong_share(found: dict[str, Rate]) -> float:
    programs = sum(rate.programs for rate in found.values())
    assert programs >= LEAST_PROGRAMS
    return sum(len(rate.seeds) for rate in found.values()) / programs


def test_at_most_one_clean_program_in_a_hundred_is_called_a_leak() -> None:
    found = rates(leaking=False)

    assert wrong_share(found) <= 0.01, {name: rate.seeds for name, rate in found.items() if rate.seeds}


def test_at_least_ninety_nine_leaking_programs_in_a_hundred_are_found() -> None:
    found = rates(leaking=True)

    assert wrong_share(found) <= 0.01, {name: rate.seeds for name, rate in found.items() if rate.seeds}
