"""Damaged files in the folders of downloads: cut off, empty, or something else under the name of an archive."""

from __future__ import annotations

import os
from pathlib import Path

from harness.doctor.answers import note, ok, problem
from harness.doctor.archive_files import Budget, is_archive, is_left_over, what_is_wrong
from harness.doctor.cache_folders import cache_folders
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check
from harness.units import format_bytes, format_number_of

__all__ = ["check_archives"]

_MOST_ENTRIES = 5_000
_MOST_SHOWN = 8
_MOST_READ = 64 * 2**20


def check_archives(here: Surroundings) -> tuple[Check, ...]:
    """A line for each damaged file. Names, ends and tables of contents are read, and nothing is unpickled.

    At most 5,000 entries are looked at and 64 MiB are read, so that a cache of terabytes takes a second.
    """
    budget = Budget(_MOST_READ)
    looked_at = 0
    damaged: list[Check] = []
    left_over: list[Path] = []
    files, whole = _files(here)
    for path in files:
        if is_left_over(path):
            left_over.append(path)
        elif is_archive(path):
            looked_at += 1
            wrong = what_is_wrong(path, budget)
            if wrong:
                damaged.append(_damaged(path, wrong))
    checks = damaged[:_MOST_SHOWN]
    if len(damaged) > _MOST_SHOWN:
        says = f"{len(damaged) - _MOST_SHOWN} more are damaged"
        checks.append(problem("archives", says, "Mend these, and look again."))
    checks += _left_over(left_over)
    if not damaged:
        says = f"{format_number_of(looked_at, 'downloaded file')} looked at, none damaged"
        if not whole:
            says += f"; there are more than the {_MOST_ENTRIES:,} entries looked through"
        checks.insert(0, ok("archives", says))
    return tuple(checks)


def _damaged(path: Path, wrong: str) -> Check:
    advice = "Delete it, and it is loaded again; if each download breaks off, look at the disk and the proxy."
    return problem("archives", f"{path}: {wrong}", advice)


def _left_over(paths: list[Path]) -> list[Check]:
    if not paths:
        return []
    count = format_number_of(len(paths), "download")
    says = f"{count} broke off or still runs: {paths[0]}{' and others' if len(paths) > 1 else ''}"
    size = sum(_size(path) for path in paths)
    advice = f"{format_bytes(size)}: delete what nothing is loading any more."
    return [note("archives", says, advice)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _files(here: Surroundings) -> tuple[list[Path], bool]:
    """Files in the folders of downloads, each once, and whether that is all; links to folders are not followed."""
    waiting = [cache.folder for cache in cache_folders(here) if cache.downloads]
    seen: set[Path] = set()
    entries = 0
    files: list[Path] = []
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        try:
            inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in inside:
            entries += 1
            if entries > _MOST_ENTRIES:
                return files, False
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            else:
                files.append(Path(entry.path))
    return files, True
