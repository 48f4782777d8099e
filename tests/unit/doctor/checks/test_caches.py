"""Folders of caches."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.checks.caches import check_caches
from tests.unit.doctor.planted import GIB, healthy, only, write


def test_folders_that_can_be_written_are_counted(tmp_path: Path) -> None:
    check = only(check_caches(healthy(tmp_path)))

    assert (check.status, check.says) == ("ok", "7 of 7 folders can be written, 50.0 GiB free")


def test_a_folder_that_is_set_and_cannot_be_written_is_a_problem_with_its_name(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    here = healthy(tmp_path, environ={"HF_HOME": str(locked)}, can_write=lambda folder: folder != locked)

    well, check = check_caches(here)

    assert well.says.startswith("6 of 7")
    assert (check.status, check.says) == ("problem", f"{locked} cannot be written (HF_HOME={locked})")
    assert "HF_HOME" in check.help


def test_a_folder_that_is_not_there_is_judged_by_the_one_above_it(tmp_path: Path) -> None:
    wanted = tmp_path / "locked/deep/cache"
    (tmp_path / "locked").mkdir()
    here = healthy(
        tmp_path, environ={"TORCH_HOME": str(wanted)}, can_write=lambda folder: folder != tmp_path / "locked"
    )

    _, check = check_caches(here)

    assert check.says == f"{tmp_path}/locked cannot be written (TORCH_HOME={wanted})"


def test_a_home_that_cannot_be_written_is_one_note_for_all_that_would_be_there(tmp_path: Path) -> None:
    here = healthy(tmp_path, can_write=lambda folder: folder != tmp_path / "home")

    _, check = check_caches(here)

    assert check.status == "note"
    assert check.says.startswith(f"{tmp_path}/home cannot be written (all caches, torch.hub's downloads")
    assert "set XDG_CACHE_HOME and TRITON_CACHE_DIR to" in check.help


def test_a_folder_for_temporary_files_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    here = healthy(tmp_path, can_write=lambda folder: folder != tmp_path / "tmp")

    _, check = check_caches(here)

    assert (check.status, "TMPDIR" in check.help) == ("problem", True)


def test_a_folder_for_temporary_files_that_is_not_there_is_a_problem_since_nobody_makes_it(tmp_path: Path) -> None:
    _, check = check_caches(healthy(tmp_path, environ={"TMPDIR": f"{tmp_path}/gone"}))

    assert check.status == "problem"
    assert check.says.startswith(f"{tmp_path}/gone is not there (TMPDIR={tmp_path}/gone)")


def test_a_file_in_the_place_of_a_folder_is_a_problem(tmp_path: Path) -> None:
    file = write(tmp_path, "cache", "")

    _, check = check_caches(healthy(tmp_path, environ={"TORCH_HOME": str(file)}))

    assert (check.status, check.says) == ("problem", f"{file} is not a folder (TORCH_HOME={file})")


def test_a_disk_that_is_full_is_a_problem_and_one_that_is_nearly_full_a_note(tmp_path: Path) -> None:
    full, scarce = tmp_path / "full", tmp_path / "scarce"
    for folder in (full, scarce):
        folder.mkdir()
    room = {full: 2**20, scarce: 500 * 2**20}
    environ = {"HF_HOME": str(full), "TORCH_HOME": str(scarce)}

    checks = check_caches(healthy(tmp_path, environ=environ, free_bytes=lambda folder: room.get(folder, 50 * GIB)))

    told = {check.says: check.status for check in checks[1:]}
    assert told == {
        f"the disk of {full} has 1.0 MiB free (HF_HOME={full})": "problem",
        f"the disk of {scarce} has 500.0 MiB free (TORCH_HOME={scarce})": "note",
    }
