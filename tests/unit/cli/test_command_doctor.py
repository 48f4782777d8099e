"""``harness doctor``: its formats and exit codes, over surroundings that a test has made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.doctor.surroundings import Surroundings
from tests.unit.doctor.planted import healthy


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What is different from surroundings in which nothing is wrong."""
    changes: dict[str, Any] = {}

    def gather(libraries: tuple[Path, ...]) -> Surroundings:
        return healthy(tmp_path, libraries=libraries, **changes)

    monkeypatch.setattr("harness.doctor.gather", gather)
    return changes


def test_a_machine_where_nothing_is_a_problem_exits_with_0(harness: Any, surroundings: dict[str, Any]) -> None:
    code, out, err = harness("doctor")

    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "measuring"
    assert out.splitlines()[-1].startswith("No problem. ")


def test_a_note_is_no_problem(harness: Any, surroundings: dict[str, Any]) -> None:
    surroundings["shared_memory_bytes"] = 64 * 2**20

    code, out, _ = harness("doctor", "--quiet")

    assert code == 0
    assert out.startswith("memory\n  !  shared memory  /dev/shm has 64.0 MiB\n")


def test_a_problem_exits_with_1(harness: Any, surroundings: dict[str, Any]) -> None:
    surroundings["environ"] = {"OMP_NUM_THREADS": "all"}

    code, out, _ = harness("doctor", "--quiet")

    assert code == 1
    assert out.splitlines()[-1].startswith("1 problem. ")


def test_json_holds_every_answer_and_nothing_else_is_printed(harness: Any, surroundings: dict[str, Any]) -> None:
    code, out, err = harness("doctor", "--format", "json", "--library", "gone.so")

    told = json.loads(out)
    assert (code, err) == (1, "")
    assert (told["schema_version"], told["tool"]["name"]) == (1, "torch-leak-harness")
    (wrong,) = [check for check in told["checks"] if check["status"] == "problem"]
    assert (wrong["group"], wrong["name"]) == ("libraries", "gone.so")
    assert set(wrong) == {"group", "name", "status", "says", "help"}


@pytest.mark.parametrize("arguments", [("--format", "html"), ("extra",), ("--librarie",)])
def test_wrong_usage_exits_with_4(harness: Any, surroundings: dict[str, Any], arguments: tuple[str, ...]) -> None:
    code, out, err = harness("doctor", *arguments)

    assert (code, out) == (4, "")
    assert "Usage: harness doctor" in err
