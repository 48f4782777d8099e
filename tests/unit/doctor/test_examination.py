"""All checks, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.answers import ok
from harness.doctor.checks import CHECKS
from harness.doctor.examination import examine
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check
from tests.unit.doctor.planted import healthy, write


def check_that_breaks(here: Surroundings) -> tuple[Check, ...]:
    raise KeyError("x")


def check_that_works(here: Surroundings) -> tuple[Check, ...]:
    return (ok("works", "yes"),)


def test_a_machine_where_nothing_is_wrong_has_neither_problems_nor_notes(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/maps", "")

    checkup = examine(healthy(tmp_path))

    assert [check for check in checkup.checks if check.status in ("problem", "note")] == []
    assert [group for group, _ in CHECKS] == list(dict.fromkeys(check.group for check in checkup.checks))


def test_a_check_that_fails_is_an_answer_and_the_others_follow(tmp_path: Path) -> None:
    checkup = examine(healthy(tmp_path), (("first", (check_that_breaks, check_that_works)),))

    assert [(check.group, check.name, check.status) for check in checkup.checks] == [
        ("first", "that breaks", "note"),
        ("first", "works", "ok"),
    ]
    assert checkup.checks[0].says == "this check itself failed: KeyError: 'x'"


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_no_check_fails_on_another_system(tmp_path: Path, system: str) -> None:
    checkup = examine(healthy(tmp_path, system=system, libc=("", ""), torch_tags=()))

    assert [check for check in checkup.checks if check.status in ("problem", "note")] == []
