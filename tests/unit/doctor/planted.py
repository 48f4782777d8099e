"""Surroundings in which nothing is wrong, below a folder of the test's own: each test plants one fault in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from harness.doctor.probe import DeviceFacts, LedgerFacts, Probe, TorchFacts
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["GIB", "a_probe", "a_torch", "healthy", "only", "write"]

GIB = 2**30


def a_torch(**changes: Any) -> TorchFacts:
    facts = TorchFacts(
        version="2.13.0+cpu", cuda=None, hip=None, path="/lib/torch", debug=False, threads=4, interop_threads=4
    )
    return msgspec.structs.replace(facts, **changes)


def a_probe(**changes: Any) -> Probe:
    """Everything works; there is no device."""
    probe = Probe(
        torch=a_torch(),
        devices=DeviceFacts(accelerator=None, names=(), capabilities=(), driver_cuda=None, why_not=None),
        instruments={"process": None, "heap": None},
        native_stacks=True,
        libraries={},
        ledger=LedgerFacts(native=None, dispatch=None),
    )
    return msgspec.structs.replace(probe, **changes)


def healthy(root: Path, *, environ: dict[str, str] | None = None, **changes: Any) -> Surroundings:
    """A Linux machine with glibc, 4 processors and 16 GiB; *root* is its file system."""
    home = root / "home"
    for folder in (home, root / "tmp", root / "sys/fs/cgroup"):
        folder.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {
        "environ": environ or {},
        "root": root,
        "home": home,
        "temporary": root / "tmp",
        "user": "me",
        "system": "Linux",
        "machine": "x86_64",
        "python": "3.11.7",
        "libc": ("glibc", "2.36"),
        "usable_cpus": 4,
        "memory_bytes": 16 * GIB,
        "available_bytes": 12 * GIB,
        "address_space_bytes": None,
        "shared_memory_bytes": 8 * GIB,
        "torch_file": None,
        "torch_tags": ("cp311-cp311-manylinux_2_28_x86_64",),
        "packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
        "requirements": (),
        "libraries": (),
        "probe": a_probe(),
        "free_bytes": lambda folder: 50 * GIB,
        "can_write": lambda folder: True,
    }
    return Surroundings(**{**values, **changes})


def write(root: Path, path: str, content: str | bytes) -> Path:
    """The file *path* below *root*, with its folders."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def only(checks: tuple[Check, ...]) -> Check:
    """The one answer that is expected."""
    (check,) = checks
    return check
