"""Puts a new folder in the place of an old one, so that whoever looks finds one of the two and never half of either."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["replace_folder", "sync", "try_beside"]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NO_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_NEW, _OLD = ".harness-new", ".harness-old"


def replace_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """*fill* a hidden folder beside *target*, then put it in *target*'s place. What ``fill`` raises comes through,
    and *target* is then as it was.

    On Linux the two change names in one system call (renameat2, RENAME_EXCHANGE). Where that does not exist, a
    process killed between two renames leaves no *target*; the earlier one is beside it and the next call brings it
    back. A killed process leaves at worst a hidden folder here, which the next call removes.
    """
    _tidy(target)
    new = _beside(target)
    try:
        os.mkdir(new)
        fill(new)
        sync(new)
        if not target.exists():
            os.rename(new, target)
        elif not _exchange(new, target):
            _rename_twice(new, target)
        sync(target.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)  # after an exchange this is the earlier folder


def try_beside(target: Path) -> None:
    """Find out now whether a folder can be made beside *target*; the system's own ``OSError`` says why not."""
    new = _beside(target)
    os.mkdir(new)
    os.rmdir(new)


def sync(folder: Path) -> None:
    """Have the disk know which names *folder* holds; without this a power cut may lose a rename."""
    if os.name == "nt":
        return  # Windows opens no folders
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name[:80]}.{os.getpid()}{_NEW}")


def _exchange(one: Path, other: Path) -> bool:
    """Let the two change names; False where this system or file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False  # glibc before 2.28
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _rename_twice(new: Path, target: Path) -> None:
    old = new.with_name(new.name.removesuffix(_NEW) + _OLD)
    os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _tidy(target: Path) -> None:
    """Remove, or bring back, what a killed process left here."""
    prefix = f".{target.name[:80]}."
    for left in sorted(target.parent.iterdir()):
        kind = next((kind for kind in (_NEW, _OLD) if left.name.startswith(prefix) and left.name.endswith(kind)), None)
        pid = left.name[len(prefix) : -len(kind)] if kind else ""
        if not pid.isdecimal() or _is_alive(int(pid)):
            continue
        if kind == _OLD and not target.exists():
            os.rename(left, target)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    import psutil  # 40 ms; only a killed process's leftovers need it

    return pid != os.getpid() and psutil.pid_exists(pid)
