"""The C library that is here against the one that torch was linked against."""

from __future__ import annotations

from harness.doctor.answers import not_here, ok, problem
from harness.doctor.checks.libraries import torch_libraries
from harness.doctor.elf import ElfError
from harness.doctor.linker import Linker
from harness.doctor.surroundings import Surroundings
from harness.doctor.version_numbers import release
from harness.model.checkup import Check

__all__ = ["check_glibc"]


def check_glibc(here: Surroundings) -> tuple[Check, ...]:
    """Version present, version needed."""
    if here.system != "Linux":
        return (not_here("glibc", f"this is {here.system}"),)
    name, version = here.libc
    needed = _needed(here)
    if name != "glibc":
        says = f"the C library is {name or 'not glibc (musl?)'}, and torch's wheels need glibc {needed}".strip()
        advice = "Use an image with glibc (Debian, Ubuntu, Fedora): there are no wheels for musl."
        return (problem("glibc", says, advice),)
    if not needed:
        return (ok("glibc", version),)
    says = f"{version} is here, and torch's libraries need {needed}"
    if release(version) < release(needed):
        advice = "A newer system, or a torch that was built for an older one; glibc alone cannot be updated."
        return (problem("glibc", says, advice),)
    return (ok("glibc", says),)


def _needed(here: Surroundings) -> str:
    """The highest version that a library in torch's folder was linked against; the system's own do not count."""
    folder = here.torch_folder
    if folder is None:
        return ""
    try:
        linked = Linker(here).link(torch_libraries(here))
    except (ElfError, OSError):
        return ""
    versions = {
        need.version.removeprefix("GLIBC_")
        for file in linked.files.values()
        if file.path.is_relative_to(folder)
        for need in file.needs
        if not need.weak and need.version.startswith("GLIBC_2")
    }
    return max(versions, key=release, default="")
