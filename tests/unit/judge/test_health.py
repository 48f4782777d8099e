"""What refuses a verdict, and in which words."""

from __future__ import annotations

import math

import msgspec

from harness.judge.health import ledger_problem, problems_of
from harness.judge.policy import DEFAULT
from harness.model.series import Series
from tests.builders import flat, ledger, site, subject


def problems(series: Series) -> tuple[str, ...]:
    sound = subject("plain", {"fds": flat(100, 9)})
    return problems_of(msgspec.structs.replace(sound, series=(series,)), DEFAULT)


def test_sound_readings_have_no_problem() -> None:
    assert problems_of(subject("plain", {"heap.used": flat(100)}), DEFAULT) == ()


def test_step_numbers_that_do_not_rise_are_refused() -> None:
    found = problems(Series(metric="heap.used", steps=(0, 1, 1, 2), values=(1.0, 1.0, 1.0, 1.0)))

    assert found == ("the steps of heap.used do not rise: 1 follows 1",)


def test_a_value_that_is_no_number_is_refused() -> None:
    found = problems(Series(metric="heap.used", steps=(0, 1), values=(1.0, math.nan)))

    assert found == ("heap.used is nan at step 1: that is no reading",)


def test_columns_of_different_lengths_are_refused() -> None:
    found = problems(Series(metric="heap.used", steps=(0, 1, 2), values=(1.0, 2.0)))

    assert found == ("heap.used has 3 steps and 2 values",)


def test_a_site_of_uneven_columns_is_refused() -> None:
    uneven = msgspec.structs.replace(site(flat(100, 4096)), bytes=(1, 2))

    found = problems_of(subject("ledger", {"leak.bytes": flat(100)}, ledger=ledger(uneven)), DEFAULT)

    assert found == ("the ledger's site 1 has columns of different lengths",)


def test_a_subject_in_which_nothing_could_be_read_is_refused() -> None:
    assert problems_of(subject("plain", {}, steps=100), DEFAULT) == (
        "no instrument gave a reading in the plain subject",
    )


def test_a_ledger_that_dropped_storages_says_so() -> None:
    assert ledger_problem(subject("ledger", {}, ledger=ledger(dropped=1200))) == (
        "the tensor ledger is incomplete: it had no room for 1,200 storages, so its figures are not used"
    )
    assert ledger_problem(subject("ledger", {}, ledger=ledger())) is None
