"""What is found out about folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.doctor.surroundings import can_write, free_bytes
from tests.unit.doctor.planted import healthy


def test_a_folder_of_ones_own_can_be_written_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    assert can_write(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc: a folder that root cannot write either")
def test_a_folder_that_nobody_can_write_is_known_as_one_to_root_too() -> None:
    assert not can_write(Path("/proc/self"))


def test_a_disk_has_some_room(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) > 0


def test_a_file_in_front_of_torch_is_not_its_folder(tmp_path: Path) -> None:
    assert healthy(tmp_path, torch_file=tmp_path / "torch.py").torch_folder is None
    assert healthy(tmp_path, torch_file=tmp_path / "torch/__init__.py").torch_folder == tmp_path / "torch"
