"""Versions as numbers."""

from __future__ import annotations

import pytest

from harness.doctor.version_numbers import release


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2.13.0+cpu", (2, 13, 0)), ("GLIBC_2.28", (2, 28)), ("3.14.0rc1", (3, 14, 0)), ("none", ())],
)
def test_a_version_is_its_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert release(version) == numbers
