"""This machine, as the checks will see it."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING

from harness.doctor import gathering
from harness.doctor.gathering import gather
from harness.doctor.probe import Probe

if TYPE_CHECKING:
    import pytest


def test_the_surroundings_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch

    asked: list[tuple[Path, ...]] = []

    def probe(libraries: tuple[Path, ...], environ: object) -> Probe:
        asked.append(libraries)
        return Probe()

    monkeypatch.setattr(gathering, "probe", probe)
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    monkeypatch.chdir(tmp_path)

    here = gather((Path("ops.so"),))

    assert here.environ["MALLOC_ARENA_MAX"] == "2"
    assert here.torch_file == Path(torch.__file__)
    assert here.packages["torch"] == importlib.metadata.version("torch")
    assert {requirement.of for requirement in here.requirements} >= {"torch"}
    assert asked == [(tmp_path / "ops.so",)]
    assert here.home.is_absolute()
    assert here.available_bytes <= here.memory_bytes


def test_a_user_without_a_name_and_a_home_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(gathering, "probe", lambda libraries, environ: Probe())
    monkeypatch.setattr("getpass.getuser", unknown)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)

    here = gather()

    assert (here.home, here.user.isdigit()) == (Path("/"), True)
