"""Where the extension cannot be had, the dispatch ledger serves, and it is said why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

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


@pytest.mark.slow
def test_without_a_compiler_the_wheel_is_built_and_has_no_extension(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info", "*.so", "tests", "out")
    source = shutil.copytree(ROOT, tmp_path / "source", ignore=left_out)

    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    environment = {**os.environ, "CC": "/nonexistent/compiler"}
    subprocess.run([*command, "-w", str(tmp_path), str(source)], check=True, env=environment, capture_output=True)

    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "harness/ledger/start.py" in names
    assert [name for name in names if name.endswith(".so")] == []
