"""Where the extension cannot be had, the dispatch ledger serves, and it is said why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.ledger import start_ledger, why_not_native
from tests.repo.source_tree import ROOT


@pytest.fixture
def no_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("harness.ledger.native_ledger", "harness.ledger.self_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delattr("harness.ledger._native", raising=False)
    monkeypatch.setitem(sys.modules, "harness.ledger._native", None)


@pytest.mark.usefixtures("no_extension")
def test_auto_falls_back_to_dispatch_and_says_why() -> None:
    with start_ledger() as ledger:
        assert ledger.source == "dispatch"

    reason = why_not_native()
    assert reason is not None
    assert reason.startswith("its extension is not there")
    assert "a C compiler and the headers of Python" in reason


@pytest.mark.usefixtures("no_extension")
def test_asking_for_native_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="its extension is not there"):
        start_ledger(source="native")


SCOPES = """
import torch
from harness import ResourceScope
from harness.errors import BudgetExceededError
with ResourceScope("request") as scope:
    kept = [torch.ones(100)]
print(scope.escapes[0].bytes)
try:
    with ResourceScope("request", budget="1 KiB"):
        torch.ones(1000)
except BudgetExceededError:
    print("refused")
"""


@pytest.mark.slow
def test_built_without_a_compiler_all_works_through_dispatch_and_says_so(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info", "*.so", "tests", "out")
    source = shutil.copytree(ROOT, tmp_path / "source", ignore=left_out)
    pip, offline = [sys.executable, "-m", "pip"], ["-q", "--no-deps", "--no-index"]
    without_compiler = {**os.environ, "CC": "/nonexistent/compiler"}

    run([*pip, "wheel", *offline, "--no-build-isolation", "-w", tmp_path, source], env=without_compiler)
    (wheel,) = tmp_path.glob("*.whl")
    run([*pip, "install", *offline, "--target", tmp_path / "installed", wheel])

    assert list((tmp_path / "installed").rglob("*.so")) == []
    installed = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}}
    report = run([sys.executable, "-m", "harness.cli.main", "run", "held_reference"], **installed)
    assert f"{Path('installed', 'harness')}" in run([sys.executable, "-c", WHERE], **installed)
    assert "All 2 runs ended as expected" in report
    assert "the dispatch ledger does not see" in report
    assert run([sys.executable, "-c", SCOPES], **installed) == "400\nrefused\n"


WHERE = "import harness; print(harness.__file__)"


def run(command: list[Any], **options: Any) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    printed: str = done.stdout
    return printed
