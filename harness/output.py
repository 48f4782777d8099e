"""The only place that writes files: a run's folder, replaced as a whole or not at all, and a job's summary."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.errors import RecordingError, UsageError
from harness.folder_swap import replace_folder, sync, try_beside
from harness.model.codec import decode_report, encode_recording, encode_report
from harness.model.environment import Tool
from harness.model.recording import Recording
from harness.model.report import Report

__all__ = ["append_summary", "check_folder", "read_report", "write_run"]

_TOOL = "torch-leak-harness"
_REPORT = "report.json"
_RECORDINGS = "recordings"
_LONGEST_NAME_BYTES = 200
_MOST_SUMMARY_BYTES = 1 << 20
_READ_HELP = "Name a folder that `harness run --out FOLDER` wrote, or its report.json."


class _Signature(msgspec.Struct):
    tool: Tool


def check_folder(folder: Path) -> None:
    """Whether :func:`write_run` could write here, asked before hours of measuring; :class:`UsageError` says why not."""
    target = _target(folder)
    with _failures_named(folder):
        try_beside(target)


def write_run(folder: Path, report: Report, recordings: Iterable[Recording]) -> str:
    """Write report.json and recordings/<scenario>.<variant>.json to *folder*; gives the sentence that says so.

    An earlier run in *folder* is replaced as a whole or not at all, also when this process is killed. A folder that
    holds anything else is refused with :class:`UsageError`, as is one that cannot be written.
    """
    target = _target(folder)
    count = 0

    def fill(new: Path) -> None:
        nonlocal count
        os.mkdir(new / _RECORDINGS)
        for recording in recordings:
            _write(_free_name(new / _RECORDINGS, recording), encode_recording(recording))
            count += 1
        sync(new / _RECORDINGS)
        _write(new / _REPORT, encode_report(report))

    with _failures_named(folder):
        replace_folder(target, fill)
    return f"Wrote the report and {count} {'recording' if count == 1 else 'recordings'} to {folder}"


def append_summary(path: Path, text: str) -> str:
    """Add *text* to the summary of a CI job, after what other commands wrote there; gives the sentence that says so.

    GitHub shows nothing at all of a step's summary over 1 MiB, so what would not fit is refused with
    :class:`UsageError`, as is a file that cannot be written.
    """
    data = text.encode(errors="backslashreplace")
    try:
        with open(path, "ab") as file:
            if file.tell() + len(data) > _MOST_SUMMARY_BYTES:
                raise UsageError(
                    f"{path}: the step's summary would be over 1 MiB, of which nothing would be shown",
                    help="Give it a step of its own.",
                )
            file.write(data)
    except OSError as error:
        raise UsageError(
            f"{path}: the step's summary cannot be written: {error.strerror or error}",
            help="GITHUB_STEP_SUMMARY names it; the annotations on stdout are not affected.",
        ) from error
    return f"Added the report to the job's summary, {path}"


def read_report(path: Path) -> Report:
    """The report of a run's folder, or of a report.json; :class:`RecordingError` for anything else."""
    file = path / _REPORT if path.is_dir() else path
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise RecordingError(f"{file}: not a regular file", help=_READ_HELP)
        return decode_report(file.read_bytes(), origin=str(file))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordingError(f"{file}: cannot be read: {reason}", help=_READ_HELP) from error
    except RecursionError as error:
        raise RecordingError(f"{file}: not a file that this tool wrote: nested too deeply", help=_READ_HELP) from error


def _target(folder: Path) -> Path:
    """The real folder behind *folder*, made sure to be free, empty or an earlier run; its parent is made."""
    with _failures_named(folder):
        target = Path(os.path.realpath(folder))
        if target.exists() and not target.is_dir():
            raise UsageError(f"{folder}: a file, and a run needs a folder", help="Name a folder that is not there yet.")
        if _is_where_we_are(target):
            raise UsageError(
                f"{folder}: the folder that you are in cannot be replaced", help="Name a folder inside it: --out run."
            )
        if target.is_dir() and (foreign := _foreign_entry(target)):
            raise UsageError(
                f"{folder}: holds {foreign!r}, which no run of this tool wrote, so it will not be replaced",
                help="Name another folder, or move away what is in it.",
            )
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(
                f"{folder}: {error.filename} is a file, not a folder", help="Name a folder that can be made."
            ) from error
    return target


def _is_where_we_are(target: Path) -> bool:
    try:
        return Path.cwd().is_relative_to(target)
    except FileNotFoundError:
        return False  # what is there was removed


def _foreign_entry(folder: Path) -> str | None:
    """What is in *folder* that an earlier run did not write; None where it may be replaced."""
    entries = sorted(os.listdir(folder))
    for name in entries:
        if name not in (_REPORT, _RECORDINGS):
            return name
    if _REPORT in entries and not _is_ours(folder / _REPORT):
        return _REPORT
    if _RECORDINGS in entries:
        if _REPORT not in entries or not (folder / _RECORDINGS).is_dir():
            return _RECORDINGS
        return next((f"{_RECORDINGS}/{n}" for n in os.listdir(folder / _RECORDINGS) if not n.endswith(".json")), None)
    return None


def _is_ours(report: Path) -> bool:
    """Whether any version of this tool wrote it."""
    try:
        return msgspec.json.decode(report.read_bytes(), type=_Signature).tool.name == _TOOL
    except (msgspec.DecodeError, OSError, RecursionError):
        return False


def _free_name(folder: Path, recording: Recording) -> Path:
    """Two scenarios of one name, from two folders, get a number; a name that no file may bear is cut or mended."""
    scenario = recording.scenario
    plain = re.sub(r"[/\\\x00-\x1f]", "_", scenario.name).encode(errors="backslashreplace")
    stem = plain[:_LONGEST_NAME_BYTES].decode(errors="ignore")
    file, number = folder / f"{stem}.{scenario.variant}.json", 1
    while file.exists():
        number += 1
        file = folder / f"{stem}-{number}.{scenario.variant}.json"
    return file


def _write(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _failures_named(folder: Path) -> Iterator[None]:
    """What the system refuses, as a sentence about the folder that the caller named."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be written: {error.strerror or error}",
            help="Is there room on the disk, and may you write there? Name another folder with --out.",
        ) from error
