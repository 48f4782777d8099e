"""``harness list`` tells what there is and runs none of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_scenarios_are_listed_with_what_is_expected_of_them(harness: Any) -> None:
    Path("said.py").write_text(
        "SCENARIO = Scenario(title='A list grows', tags=('a', 'b'), expect=leak('held_reference'))\ndef step(i): ...\n"
    )

    code, out, err = harness("list", ".")

    assert (code, err) == (0, "")
    rows = [line.split("  ") for line in out.splitlines()]
    assert [cell.strip() for cell in rows[2] if cell.strip()] == [
        "said",
        "leak (held_reference)",
        "a, b",
        "A list grows",
    ]
    assert out.endswith("\n2 scenarios.\n")


def test_the_bundled_scenarios_are_listed_without_a_target(harness: Any) -> None:
    code, out, _ = harness("list")

    assert code == 0
    assert "held_reference" in out


def test_the_list_is_to_be_had_as_json(harness: Any) -> None:
    _, out, _ = harness("list", "train.py", "--format", "json")

    assert json.loads(out) == {
        "scenarios": [
            {
                "name": "train",
                "path": "train.py",
                "variants": ["step", "fixed_step"],
                "expected": {"kind": "stable"},
                "tags": [],
                "title": "",
                "bundled": False,
            }
        ],
        "problems": [],
    }


def test_names_that_would_act_on_the_terminal_are_escaped(harness: Any) -> None:
    Path("\x1b[2Jx.py").write_text("def step(i): ...\n")

    _, out, err = harness("list", ".", "\x1b[31mnowhere")

    assert "\\x1b[2Jx" in out
    assert "\\x1b[31mnowhere" in err
    assert "\x1b" not in out + err


def test_what_cannot_be_found_exits_4_and_nothing_to_list_exits_5(harness: Any) -> None:
    Path("empty").mkdir()

    missing, empty = harness("list", "nowhere.py"), harness("list", "empty", "--format", "json")

    assert (missing.code, missing.out) == (4, "")
    assert missing.err.startswith("harness: 'nowhere.py': no such file, folder or bundled scenario\n  ")
    assert empty.code == 5
    assert json.loads(empty.out) == {"scenarios": [], "problems": []}
