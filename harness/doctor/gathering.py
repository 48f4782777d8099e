"""Reads the surroundings of this process once, for all checks."""

from __future__ import annotations

import getpass
import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from harness.doctor.probe import probe
from harness.doctor.surroundings import Requirement, Surroundings

__all__ = ["gather"]


def gather(libraries: Sequence[Path] = ()) -> Surroundings:
    """This machine and this Python, torch as another process finds it. Takes as long as importing torch does.

    *libraries* are the user's own, of custom operators: loaded there too, behind torch.
    """
    resolved = tuple(library.absolute() for library in libraries)
    memory = psutil.virtual_memory()
    packages, requirements, tags = _installed()
    return Surroundings(
        environ=dict(os.environ),
        root=Path("/"),
        home=_home(),
        temporary=_temporary(),
        user=_user(),
        system=platform.system(),
        machine=platform.machine(),
        python=platform.python_version(),
        libc=platform.libc_ver(),
        usable_cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=memory.total,
        available_bytes=memory.available,
        address_space_bytes=_address_space(),
        shared_memory_bytes=_shared_memory(),
        torch_file=_torch_file(),
        torch_tags=tags,
        packages=packages,
        requirements=requirements,
        libraries=resolved,
        probe=probe(resolved, environ=os.environ),
    )


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and a user that the system does not know
        return Path("/")


def _temporary() -> Path:
    """Where temporary files go; the folder that was asked for where Python finds none that it can use."""
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return Path(os.environ.get("TMPDIR", "/tmp"))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user without a name
        return str(os.getuid()) if hasattr(os, "getuid") else ""


def _address_space() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _shared_memory() -> int | None:
    """The size of /dev/shm, through which DataLoader's workers hand over their batches."""
    try:
        disk = os.statvfs("/dev/shm")
    except (OSError, AttributeError):
        return None
    return disk.f_blocks * disk.f_frsize


def _torch_file() -> Path | None:
    """Where ``import torch`` would find it, without importing it."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _installed() -> tuple[dict[str, str], tuple[Requirement, ...], tuple[str, ...]]:
    """Versions by name; what torch, those that need torch, and we ask for; the tags of torch's wheel."""
    packages: dict[str, str] = {}
    requirements: list[Requirement] = []
    tags: tuple[str, ...] = ()
    for installed in importlib.metadata.distributions():
        name = _normal(installed.metadata["Name"] or "")
        if not name or name in packages:
            continue  # the first one on the path is the one that is imported
        packages[name] = installed.version
        texts = installed.requires or []
        if name in ("torch", "torch-leak-harness") or any(re.match(r"torch\b(?!-)", text) for text in texts):
            requirements.extend(Requirement(of=name, text=text) for text in texts)
        if name == "torch":
            tags = tuple(_tags(installed.read_text("WHEEL") or ""))
    return packages, tuple(requirements), tags


def _tags(wheel: str) -> Iterator[str]:
    for line in wheel.splitlines():
        field, _, value = line.partition(":")
        if field == "Tag":
            yield value.strip()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
