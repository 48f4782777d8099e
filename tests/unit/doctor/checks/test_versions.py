"""Versions that do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.checks.versions import check_versions
from harness.doctor.known_pairs import KNOWN_PAIRS
from harness.doctor.surroundings import Requirement
from tests.unit.doctor.planted import healthy, only


def test_versions_that_go_together_are_counted(tmp_path: Path) -> None:
    requirements = (Requirement(of="torch", text="numpy>=1.26"), Requirement(of="torch", text="x; extra == 'y'"))

    check = only(check_versions(healthy(tmp_path, requirements=requirements)))

    assert check.status == "ok"
    assert check.says == "every requirement of torch is met, and no known bad pair is installed"


@pytest.mark.parametrize("pair", KNOWN_PAIRS, ids=lambda pair: f"{pair.torch_before}-{pair.package}")
def test_each_known_bad_pair_is_found_and_each_side_of_it_alone_is_not(tmp_path: Path, pair: object) -> None:
    from harness.doctor.known_pairs import KnownPair

    assert isinstance(pair, KnownPair)
    python = pair.version if pair.package == "python" else "3.11.7"
    bad = {"torch": "1.13.1", pair.package: pair.version}
    good = {**bad, "torch": f"{pair.torch_before}.0"}

    found = [check.says for check in check_versions(healthy(tmp_path, packages=bad, python=python))]
    not_found = check_versions(healthy(tmp_path, packages=good, python=python))

    assert any(pair.what in says and f"{pair.package} {pair.version}" in says for says in found)
    assert not any(pair.what in check.says for check in not_found)
    assert pair.link.startswith("https://github.com/")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("torch==2.9.0", "torchvision asks for torch==2.9.0, and 2.13.0+cpu is installed"),
        ("pillow>=5", "torchvision asks for pillow>=5, and it is not installed"),
    ],
)
def test_what_a_package_asks_for_and_does_not_get_is_named(tmp_path: Path, text: str, says: str) -> None:
    requirements = (Requirement(of="torchvision", text=text),)

    check = only(check_versions(healthy(tmp_path, requirements=requirements)))

    assert (check.status, check.says) == ("problem", says)


def test_a_build_of_the_version_that_is_asked_for_fits(tmp_path: Path) -> None:
    requirements = (Requirement(of="torchvision", text="torch==2.13.0"), Requirement(of="x", text="not a ; line =="))

    assert only(check_versions(healthy(tmp_path, requirements=requirements))).status == "ok"
