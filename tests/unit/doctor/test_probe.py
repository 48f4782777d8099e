"""A process that may die of torch is asked until every stage has an answer, or a reason why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.doctor.probe import STAGES, Probe, probe

VALUES = """
    "torch": {"version": "2.13.0", "cuda": None, "hip": None, "path": "/torch", "debug": False, "threads": 2,
              "interop_threads": 2},
    "devices": {"accelerator": None, "names": [], "capabilities": [], "driver_cuda": None, "why_not": None},
    "instruments": {"heap": None}, "native_stacks": True, "ledger": {"native": None, "dispatch": None},
"""

CHILD = """
import json, os, signal, sys, threading
VALUES = {%s}
log = open(os.path.join(os.path.dirname(__file__), "asked"), "a")
for stage in sys.argv[1].split(","):
    print(stage, file=log, flush=True)
    print(json.dumps({"stage": stage, "begins": True}), flush=True)
    %s
    print(json.dumps({"stage": stage, "value": VALUES.get(stage)}), flush=True)
"""


def asked(
    folder: Path, fault: str, *, libraries: tuple[Path, ...] = (), longest_s: float = 100
) -> tuple[Probe, list[str]]:
    """What a child with this line in it leads to, and the stages that it was asked for, over all processes."""
    (folder / "child_of_a_test.py").write_text(CHILD % (VALUES, fault))
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    found = probe(libraries, environ=environ, module="child_of_a_test", longest_s=longest_s)
    return found, (folder / "asked").read_text().splitlines()


def test_one_process_answers_everything_where_nothing_goes_wrong(tmp_path: Path) -> None:
    found, stages = asked(tmp_path, "pass")

    assert stages == list(STAGES)
    assert (found.torch is not None, found.ledger is not None, found.errors) == (True, True, {})


def test_a_stage_that_kills_the_process_has_that_as_its_reason_and_the_others_are_asked_again(tmp_path: Path) -> None:
    found, stages = asked(tmp_path, "if stage == 'devices': os.kill(os.getpid(), signal.SIGKILL)")

    assert stages == [*STAGES[:2], *STAGES[2:]]
    assert found.errors == {"devices": "the process died of SIGKILL"}
    assert (found.torch is not None, found.devices, found.ledger is not None) == (True, None, True)


def test_a_torch_that_kills_the_process_is_tried_once(tmp_path: Path) -> None:
    found, stages = asked(tmp_path, "if stage == 'torch': os.kill(os.getpid(), signal.SIGKILL)")

    assert stages.count("torch") == 1
    assert "ledger" not in stages
    assert found.error("torch") == "the process died of SIGKILL"
    assert found.error("ledger") == "torch cannot be imported"
    assert found.instruments == {"heap": None}


def test_a_library_that_kills_the_process_is_told_from_its_neighbours(tmp_path: Path) -> None:
    fault = "if stage == 'library 1': os.kill(os.getpid(), signal.SIGKILL)"

    found, stages = asked(tmp_path, fault, libraries=(Path("/a.so"), Path("/b.so"), Path("/c.so")))

    assert stages == [*STAGES, "library 0", "library 1", "library 2"]
    assert found.libraries == {"/a.so": None, "/b.so": "the process died of SIGKILL", "/c.so": None}


def test_a_stage_that_nobody_asked_for_is_passed_over(tmp_path: Path) -> None:
    found, _ = asked(tmp_path, """print('{"stage": "other", "begins": true}', flush=True)""")

    assert found.errors == {}


def test_a_process_that_ends_early_is_told_with_its_code_and_its_last_words(tmp_path: Path) -> None:
    found, _ = asked(tmp_path, "if stage == 'ledger': sys.exit('no space left')")

    assert found.errors == {"ledger": "the process ended with exit code 1 (no space left)"}


def test_what_else_is_printed_is_passed_over(tmp_path: Path) -> None:
    found, _ = asked(tmp_path, "print('hello'); print('{\"cut')")

    assert found.errors == {}


@pytest.mark.slow
def test_a_stage_that_never_ends_is_ended(tmp_path: Path) -> None:
    found, _ = asked(tmp_path, "if stage == 'torch': threading.Event().wait()", longest_s=10)

    assert found.error("torch") == "did not end within 10 s"


def test_a_child_that_cannot_even_start_leaves_a_reason_for_every_stage(tmp_path: Path) -> None:
    found = probe(environ={**os.environ, "PYTHONPATH": str(tmp_path)}, module="no_such_module")

    assert set(found.errors) == set(STAGES)
    assert "No module named no_such_module" in found.error("torch")
