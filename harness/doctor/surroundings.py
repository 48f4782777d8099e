"""All that the checks look at, as one value: a test plants a fault by giving another one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from harness.doctor.probe import Probe

__all__ = ["Requirement", "Surroundings", "can_write", "free_bytes"]


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """What the installed package ``of`` asks for, as its metadata writes it: ``torch==2.9.0; extra == "x"``."""

    of: str
    text: str


def free_bytes(folder: Path) -> int:
    """What this user may still write on the disk of *folder*, which exists."""
    return shutil.disk_usage(folder).free


def can_write(folder: Path) -> bool:
    """Whether a file can be made in *folder*: tried with one that is gone again, since rights alone do not tell.

    Root passes ``os.access`` everywhere, and a disk that is mounted read-only passes it too on some systems.
    """
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """``root`` is where /proc, /sys and /etc are looked for; ``probe`` what a process said that imported torch."""

    environ: Mapping[str, str]
    root: Path
    home: Path
    temporary: Path
    user: str
    system: str
    machine: str
    python: str
    libc: tuple[str, str]
    usable_cpus: int
    memory_bytes: int
    available_bytes: int
    address_space_bytes: int | None
    shared_memory_bytes: int | None
    torch_file: Path | None
    torch_tags: tuple[str, ...]
    packages: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    libraries: tuple[Path, ...]
    probe: Probe
    free_bytes: Callable[[Path], int] = free_bytes
    can_write: Callable[[Path], bool] = can_write

    @property
    def torch_folder(self) -> Path | None:
        """The package's folder; None without torch, or where the name leads to a file that is not the package."""
        file = self.torch_file
        return file.parent if file is not None and file.name == "__init__.py" else None

    def variable(self, name: str) -> str:
        """The value of an environment variable without the white space around it; empty where it is not set."""
        return self.environ.get(name, "").strip()

    def text(self, path: str) -> str | None:
        """A file below the root (``proc/self/maps``) as text; None where it is not there or cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
