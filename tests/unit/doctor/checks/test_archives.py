"""Damaged downloads are found in the folders where they are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from harness.doctor.checks import archives
from harness.doctor.checks.archives import check_archives
from tests.unit.doctor.planted import healthy, only, write
from tests.unit.doctor.test_archive_files import a_zip

if TYPE_CHECKING:
    import pytest

HUB = "home/.cache/torch/hub/checkpoints"
HUGGING_FACE = "home/.cache/huggingface/hub/models--x"


def test_whole_files_are_counted_and_others_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, f"{HUB}/net.pth", a_zip())
    write(tmp_path, f"{HUB}/notes.txt", "")

    check = only(check_archives(healthy(tmp_path)))

    assert (check.status, check.says) == ("ok", "1 downloaded file looked at, none damaged")


def test_each_damaged_file_is_named_with_its_folder(tmp_path: Path) -> None:
    cut = write(tmp_path, f"{HUB}/net.pth", a_zip()[:-30])
    empty = write(tmp_path, f"{HUGGING_FACE}/snapshots/1/model.safetensors", "")

    checks = check_archives(healthy(tmp_path))

    assert {check.status for check in checks} == {"problem"}
    assert [check.says.split(": ")[0] for check in sorted(checks, key=lambda check: check.says)] == sorted(
        (str(cut), str(empty))
    )


def test_a_link_whose_file_is_gone_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / HUGGING_FACE / "snapshots/1"
    folder.mkdir(parents=True)
    os.symlink("../../blobs/gone", folder / "model.safetensors")

    check = only(check_archives(healthy(tmp_path)))

    assert (check.status, "a link to a file that is gone" in check.says) == ("problem", True)


def test_a_download_that_broke_off_is_a_note_with_its_size(tmp_path: Path) -> None:
    left = write(tmp_path, f"{HUGGING_FACE}/blobs/abc.incomplete", bytes(2048))

    _, check = check_archives(healthy(tmp_path))
    write(tmp_path, f"{HUB}/net.pth.1f.partial", bytes(1024))
    _, both = check_archives(healthy(tmp_path))

    assert (check.status, check.says) == ("note", f"1 download broke off or still runs: {left}")
    assert "2.0 KiB" in check.help
    assert both.says.startswith("2 downloads broke off")
    assert both.says.endswith(" and others")
    assert "3.0 KiB" in both.help


def test_folders_that_variables_name_are_looked_through(tmp_path: Path) -> None:
    write(tmp_path, "own/hub/net.pt", "")
    here = healthy(tmp_path, environ={"TORCH_HOME": str(tmp_path / "own")})

    assert only(check_archives(here)).status == "problem"


def test_the_work_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_ENTRIES", 10)
    for number in range(40):
        write(tmp_path, f"{HUB}/{number:02}.pth", a_zip())

    check = only(check_archives(healthy(tmp_path)))

    assert check.says == "8 downloaded files looked at, none damaged; there are more than the 10 entries looked through"


def test_many_damaged_files_are_counted_and_not_all_listed(tmp_path: Path) -> None:
    for number in range(20):
        write(tmp_path, f"{HUB}/{number:02}.pth", "")

    checks = check_archives(healthy(tmp_path))

    assert (len(checks), checks[-1].says) == (9, "12 more are damaged")
