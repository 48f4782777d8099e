"""Which instruments read here."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.checks.instruments import check_instruments
from tests.unit.doctor.planted import a_probe, healthy, only


def test_instruments_that_read_are_one_line(tmp_path: Path) -> None:
    check = only(check_instruments(healthy(tmp_path)))

    assert (check.status, check.says) == ("ok", "2 of 2 read: process, heap")


def test_one_that_is_absent_says_why_and_is_no_problem(tmp_path: Path) -> None:
    probe = a_probe(instruments={"process": None, "heap": "this C library does not tell"})

    first, absent = check_instruments(healthy(tmp_path, probe=probe))

    assert first.says == "1 of 2 read: process"
    assert (absent.name, absent.status, absent.says) == ("heap", "not_here", "this C library does not tell")


def test_one_that_fails_is_a_problem(tmp_path: Path) -> None:
    probe = a_probe(instruments={"process": None, "heap": "it fails: OSError: no /proc"})

    _, broken = check_instruments(healthy(tmp_path, probe=probe))

    assert broken.status == "problem"


def test_instruments_that_could_not_be_tried_are_a_problem_with_the_reason(tmp_path: Path) -> None:
    probe = a_probe(instruments=None, errors={"instruments": "ImportError: psutil"})

    check = only(check_instruments(healthy(tmp_path, probe=probe)))

    assert (check.status, check.says) == ("problem", "they cannot be tried: ImportError: psutil")
