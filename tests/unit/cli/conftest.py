"""Runs the command line as a shell would, without a new process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness import pipeline
from harness.cli.main import main
from tests.unit.cli.fake_pipeline import FakePipeline


class Answer(NamedTuple):
    """What the shell sees."""

    code: int
    out: str
    err: str


@pytest.fixture
def harness(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """``harness("run", "x.py")`` gives the exit code and both outputs."""

    def call(*arguments: str) -> Answer:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        captured = capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return Answer(caught.value.code, captured.out, captured.err)

    return call


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakePipeline]:
    """``faked(a_leak())``: nothing is measured, and these runs are what comes of it."""

    def install(*runs: Any, **changes: Any) -> FakePipeline:
        fake = FakePipeline(*runs, **changes)
        monkeypatch.setattr(pipeline, "run_scenarios", fake)
        return fake

    return install


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one scenario, train.py."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "train.py").write_text("def step(i): ...\ndef fixed_step(i): ...\n")
    monkeypatch.chdir(folder)
    return folder
