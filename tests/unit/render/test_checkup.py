"""An examination as it stands on a terminal."""

from __future__ import annotations

from harness.model.checkup import Check, Checkup
from harness.model.environment import Tool
from harness.render.checkup import render


def a_checkup(*checks: Check) -> Checkup:
    return Checkup(tool=Tool(name="torch-leak-harness", version="0"), checks=checks)


WELL = Check(group="measuring", name="ledger", status="ok", says="works", help="never shown")
ABSENT = Check(group="measuring", name="accelerator", status="not_here", says="no device")
NOTE = Check(group="files", name="archives", status="note", says="1 download broke off", help="Delete it.")
PROBLEM = Check(group="files", name="caches", status="problem", says="/data cannot be written", help="Set HF_HOME.")
AGAIN = Check(group="files", name="caches", status="problem", says="/more cannot be written", help="Set TORCH_HOME.")


def test_answers_are_grouped_and_aligned_with_what_to_try_below_what_is_wrong() -> None:
    assert render(a_checkup(WELL, ABSENT, NOTE, PROBLEM, AGAIN)) == (
        "measuring\n"
        "  ✓  ledger       works\n"
        "  ·  accelerator  no device\n"
        "\n"
        "files\n"
        "  !  archives     1 download broke off\n"
        "                  → Delete it.\n"
        "  ✗  caches       /data cannot be written\n"
        "                  → Set HF_HOME.\n"
        "  ✗               /more cannot be written\n"
        "                  → Set TORCH_HOME.\n"
        "\n"
        "2 problems. 1 well, 1 note, 1 not here.\n"
    )


def test_quiet_leaves_problems_notes_and_the_last_line() -> None:
    assert render(a_checkup(WELL, ABSENT, NOTE), quiet=True) == (
        "files\n  !  archives  1 download broke off\n               → Delete it.\n"
        "\n"
        "No problem. 1 well, 1 note, 1 not here.\n"
    )


def test_where_nothing_is_wrong_quiet_says_so_in_one_line() -> None:
    assert render(a_checkup(WELL), quiet=True) == "No problem. 1 well, 0 notes, 0 not here.\n"


def test_names_from_outside_cannot_act_on_the_terminal() -> None:
    evil = Check(group="files", name="caches", status="note", says="/x\x1b[2J\ny cannot be written")

    assert "\x1b" not in render(a_checkup(evil))


def test_color_marks_what_is_wrong() -> None:
    assert "\x1b[" in render(a_checkup(PROBLEM), color=True)
