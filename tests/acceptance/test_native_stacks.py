"""A leak in C, from the growth of the heap to the line that entered the call."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LEAKS = """
import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p

def take(n):
    return libc.malloc(n)

def step(i):
    ctypes.memset(ctypes.c_void_p(take(60_000)), 1, 60_000)
"""

FOLLOWS_ITSELF = """
import ctypes, os, tempfile
import memray

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
tracker = memray.Tracker(os.path.join(tempfile.mkdtemp(), "own.bin"))

def setup():
    tracker.__enter__()

def step(i):
    ctypes.memset(ctypes.c_void_p(libc.malloc(60_000)), 1, 60_000)
"""


def run(folder: Path, source: str, *options: str) -> dict[str, Any]:
    (folder / "case.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli.main", "run", "case.py", "--variant", "step", "--format", "json", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    (told,) = json.loads(done.stdout)["runs"]
    assert isinstance(told, dict)
    return told


def test_memory_that_a_c_call_gave_is_found_at_the_users_line(tmp_path: Path) -> None:
    told = run(tmp_path, LEAKS)

    (finding,) = told["findings"]
    assert (told["outcome"], finding["cause"]) == ("leak", "native_heap")
    assert finding["allocated_at"][0]["source"] == "return libc.malloc(n)"
    assert finding["allocated_at"][1]["function"] == "step"
    assert finding["native_stack"] == ["malloc", "ctypes"]
    assert finding["known"] is None


@pytest.mark.slow
def test_a_scenario_with_a_tracker_of_its_own_keeps_its_verdict_and_gets_a_note(tmp_path: Path) -> None:
    told = run(tmp_path, FOLLOWS_ITSELF)

    assert told["outcome"] == "leak"
    assert any(note.startswith("native stacks could not be taken: memray does not start") for note in told["notes"])


@pytest.mark.slow
def test_nobody_takes_native_stacks_where_that_is_forbidden(tmp_path: Path) -> None:
    told = run(tmp_path, LEAKS, "--no-native")

    assert told["outcome"] == "leak"
    assert told["findings"][0]["native_stack"] == []
