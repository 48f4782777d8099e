"""A run's folder is there as a whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import folder_swap
from harness.errors import RecordingError, UsageError
from harness.model.codec import decode_recording, encode_report
from harness.model.recording import Recording
from harness.output import check_folder, read_report, write_run
from tests.report_builder import a_recording, a_report, a_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "out"


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_run_is_written_and_read_back(folder: Path) -> None:
    report = a_report(a_run())

    told = write_run(folder, report, [a_recording()])

    assert told == f"Wrote the report and 1 recording to {folder}"
    assert names(folder) == ["recordings", "recordings/tidy.step.json", "report.json"]
    assert read_report(folder) == read_report(folder / "report.json") == report
    data = (folder / "recordings/tidy.step.json").read_bytes()
    assert decode_recording(data, origin="test") == a_recording()


def test_an_earlier_run_is_replaced_as_a_whole(folder: Path) -> None:
    write_run(folder, a_report(a_run("before")), [a_recording("before"), a_recording("gone")])

    write_run(folder, a_report(a_run("after")), [a_recording("after")])

    assert names(folder.parent) == ["out", "out/recordings", "out/recordings/after.step.json", "out/report.json"]
    assert read_report(folder).runs[0].scenario == "after"


def test_missing_parents_and_an_empty_folder_are_no_obstacle(folder: Path) -> None:
    deep = folder / "a" / "b"
    empty = folder / "empty"
    empty.mkdir(parents=True)

    write_run(deep, a_report(), [])
    write_run(empty, a_report(), [])

    assert read_report(deep) == read_report(empty) == a_report()


def test_a_link_to_a_folder_stays_a_link(folder: Path) -> None:
    real = folder.parent / "real"
    write_run(real, a_report(a_run("before")), [])
    folder.symlink_to(real)

    write_run(folder, a_report(a_run("after")), [])

    assert folder.is_symlink()
    assert read_report(real).runs[0].scenario == "after"


def test_scenarios_of_one_name_and_names_that_no_file_may_bear_each_get_a_file(folder: Path) -> None:
    recordings = [
        a_recording("train"),
        a_recording("train", "b/train.py"),
        a_recording("a/../b"),
        a_recording("ä" * 400),
    ]

    write_run(folder, a_report(), recordings)

    assert {"train.step.json", "train-2.step.json", "a_.._b.step.json"} < set(os.listdir(folder / "recordings"))
    assert len(os.listdir(folder / "recordings")) == 4


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("notes.txt", "notes.txt"),
        (".git", ".git"),
        ("report.json", "report.json"),
        ("recordings/plot.png", "recordings"),
    ],
)
def test_a_folder_with_anything_that_is_not_ours_is_refused_and_left_alone(
    folder: Path, entry: str, named: str
) -> None:
    (folder / entry).parent.mkdir(parents=True)
    (folder / entry).write_text('{"tool": {"name": "another", "version": "1"}}')

    for attempt in (lambda: check_folder(folder), lambda: write_run(folder, a_report(), [])):
        with pytest.raises(UsageError, match=f"holds '{named}', which no run of this tool wrote"):
            attempt()

    assert (folder / entry).exists()


def test_a_file_that_a_user_put_into_a_run_is_not_lost(folder: Path) -> None:
    write_run(folder, a_report(), [])
    (folder / "recordings" / "plot.png").write_text("mine")

    with pytest.raises(UsageError, match=r"recordings/plot\.png"):
        write_run(folder, a_report(), [])

    assert (folder / "recordings" / "plot.png").read_text() == "mine"


def test_a_run_of_a_later_version_counts_as_ours(folder: Path) -> None:
    folder.mkdir()
    (folder / "report.json").write_text(
        '{"schema_version": 99, "tool": {"name": "torch-leak-harness", "version": "9"}}'
    )

    write_run(folder, a_report(), [])

    assert read_report(folder) == a_report()


def test_a_path_that_is_a_file_or_below_one_is_refused(folder: Path) -> None:
    folder.write_text("mine")

    with pytest.raises(UsageError, match="a file, and a run needs a folder"):
        write_run(folder, a_report(), [])
    with pytest.raises(UsageError, match="is a file, not a folder"):
        write_run(folder / "below", a_report(), [])

    assert folder.read_text() == "mine"


def test_the_working_directory_and_what_holds_it_are_refused(folder: Path) -> None:
    for here in (Path("."), folder.parent, Path("/")):
        with pytest.raises(UsageError, match="the folder that you are in cannot be replaced"):
            check_folder(here)


def test_checking_a_folder_leaves_nothing_behind(folder: Path) -> None:
    check_folder(folder)

    assert names(folder.parent) == []


def test_a_parent_that_cannot_be_written_is_refused_before_anything_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mkdir(path: object, mode: int = 0o777) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")  # root may write everywhere, so a mode proves nothing

    monkeypatch.setattr(os, "mkdir", mkdir)

    with pytest.raises(UsageError, match="out: cannot be written: Permission denied"):
        check_folder(folder)


def test_a_full_disk_leaves_the_earlier_run_and_nothing_half_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(folder, a_report(a_run("before")), [a_recording()])
    before = names(folder.parent)

    def fsync(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(UsageError, match="cannot be written: No space left on device") as caught:
        write_run(folder, a_report(a_run("after")), [a_recording()])

    assert "room on the disk" in caught.value.help
    assert names(folder.parent) == before
    assert read_report(folder).runs[0].scenario == "before"


def test_an_interruption_while_writing_leaves_the_earlier_run(folder: Path) -> None:
    write_run(folder, a_report(a_run("before")), [])

    def recordings() -> Iterator[Recording]:
        yield a_recording()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(folder, a_report(a_run("after")), recordings())

    assert names(folder.parent) == ["out", "out/recordings", "out/report.json"]
    assert read_report(folder).runs[0].scenario == "before"


def in_a_child(work: Callable[[], object]) -> int:
    """Run *work* in a fork; its wait status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def kill_self_at(call: int) -> None:
    """Kill this process at the start of the given system call of those that change the disk."""
    counted = [0]

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            counted[0] += 1
            if counted[0] == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return wrapped

    for name in ("mkdir", "fsync", "rename", "open", "unlink", "rmdir"):
        setattr(os, name, counting(getattr(os, name)))
    folder_swap._exchange = counting(folder_swap._exchange)


def test_a_kill_at_any_moment_leaves_the_earlier_run_or_the_new_one(folder: Path) -> None:
    seen = []
    for call in range(1, 60):
        write_run(folder, a_report(a_run("before")), [a_recording()])

        def killed(call: int = call) -> None:
            kill_self_at(call)
            write_run(folder, a_report(a_run("after")), [a_recording()])

        status = in_a_child(killed)

        seen.append(read_report(folder).runs[0].scenario)
        assert len(os.listdir(folder / "recordings")) == 1
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
    assert status == 0, "never reached the end"
    assert seen.index("after") > 5
    assert set(seen[seen.index("after") :]) == {"after"}


def test_what_a_killed_writer_left_is_removed_by_the_next(folder: Path) -> None:
    def killed() -> None:
        kill_self_at(4)
        write_run(folder, a_report(), [a_recording()])

    in_a_child(killed)
    left = [name for name in os.listdir(folder.parent) if name.startswith(".out.")]

    write_run(folder, a_report(), [])

    assert left
    assert os.listdir(folder.parent) == ["out"]


def test_what_a_living_writer_is_filling_is_left_alone(folder: Path) -> None:
    other = folder.parent / f".out.{os.getppid()}.harness-new"
    other.mkdir()

    write_run(folder, a_report(), [])

    assert other.exists()


def test_without_an_exchange_in_the_system_the_run_is_replaced_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_swap, "_exchange", lambda one, other: False)
    write_run(folder, a_report(a_run("before")), [])

    write_run(folder, a_report(a_run("after")), [])

    assert read_report(folder).runs[0].scenario == "after"
    assert os.listdir(folder.parent) == ["out"]


def test_without_an_exchange_a_run_that_a_killed_writer_moved_away_comes_back(folder: Path) -> None:
    write_run(folder, a_report(a_run("before")), [])

    def killed() -> None:
        folder_swap._exchange = lambda one, other: False
        real_rename = os.rename

        def rename(one: Path, other: Path) -> None:
            if other == folder:
                os.kill(os.getpid(), signal.SIGKILL)
            real_rename(one, other)

        os.rename = rename  # type: ignore[assignment] # the child dies of it
        write_run(folder, a_report(a_run("after")), [])

    in_a_child(killed)
    assert not folder.exists()

    def interrupted() -> Iterator[Recording]:
        yield a_recording()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(folder, a_report(a_run("later")), interrupted())

    assert read_report(folder).runs[0].scenario == "before"
    assert os.listdir(folder.parent) == ["out"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a file that this tool wrote"),
        (b"{", "not a file that this tool wrote"),
        (b"[]", "not a file that this tool wrote"),
        (b'{"schema_version": 2}', "schema_version is 2, and this version reads 1"),
        (b"{}", "schema_version is None"),
        (b'{"schema_version": 1, "tool": "\xff"}', ""),
        (b"[" * 100_000, ""),
        (encode_report(a_report(a_run()))[:-40], "not a file that this tool wrote"),
    ],
)
def test_a_report_that_is_none_is_refused_with_its_name(folder: Path, data: bytes, why: str) -> None:
    folder.mkdir()
    (folder / "report.json").write_bytes(data)

    with pytest.raises(RecordingError) as caught:
        read_report(folder)

    assert str(folder / "report.json") in str(caught.value)
    assert why in str(caught.value)
    assert caught.value.help


def test_a_folder_without_a_report_a_missing_path_and_a_pipe_are_refused(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder.parent / "pipe")

    for path in (folder, folder / "nowhere", folder.parent / "pipe"):
        with pytest.raises(RecordingError) as caught:
            read_report(path)
        assert "harness run --out" in caught.value.help


def test_the_check_and_the_write_agree(folder: Path) -> None:
    write_run(folder, a_report(), [])

    check_folder(folder)

    assert read_report(folder) == a_report()
