"""Use after close never crashes the process, and never gives a wrong number."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.repo.source_tree import ROOT


@pytest.mark.slow
def test_closing_thousands_of_tensors_under_views_arrays_graphs_and_threads_crashes_nothing() -> None:
    # In a process of its own: a crash is then a signal number and not the end of the tests.
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.unit.scope.closing_fuzz", "5000"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1].endswith(", 0 wrong"), done.stdout
