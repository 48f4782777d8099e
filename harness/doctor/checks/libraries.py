"""What torch's own libraries ask of the loader and do not get: what ``ldd -v`` would say of them."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.answers import not_here, ok, problem
from harness.doctor.elf import ElfError
from harness.doctor.linker import Linked, Linker
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_libraries", "said_of", "torch_libraries"]

_MISSING = "Install the package that has it, or add its folder to LD_LIBRARY_PATH; then look again."


def check_libraries(here: Surroundings) -> tuple[Check, ...]:
    """Libraries that are missing, or for another machine, or too old, by name."""
    if here.system != "Linux":
        says = f"only Linux's form of libraries is read, and this is {here.system}"
        return (not_here("torch's libraries", says),)
    starts = torch_libraries(here)
    if not starts:
        says = f"{here.torch_folder} has none" if here.torch_folder else "no torch is installed here"
        return (not_here("torch's libraries", says),)
    try:
        linked = Linker(here).link(starts)
    except (ElfError, OSError) as error:
        advice = "An install that broke off, a full disk, or a copy from another machine: install torch again."
        return (problem("torch's libraries", str(error), advice),)
    wrong = said_of(linked, "torch's libraries")
    if wrong:
        return wrong
    says = f"{len(linked.files)} libraries, all there, with every version of a symbol that is asked for"
    return (ok("torch's libraries", says),)


def torch_libraries(here: Surroundings) -> tuple[Path, ...]:
    """Those that ``import torch`` loads by name; they bring the others."""
    folder = here.torch_folder
    if folder is None:
        return ()
    return (*sorted(folder.glob("_C.*.so")), *sorted((folder / "lib").glob("libtorch_global_deps.so")))


def said_of(linked: Linked, name: str) -> tuple[Check, ...]:
    """A line for each library that is missing and for each library that is too old."""
    checks = []
    for missing in linked.missing:
        other = f" ({missing.other})" if missing.other else ""
        says = f"{missing.name} is missing, which {missing.wanted_by.name} needs{other}"
        checks.append(problem(name, says, _MISSING))
    providers: dict[tuple[Path, Path], list[str]] = {}
    for version in linked.versions:
        providers.setdefault((version.provider, version.wanted_by), []).append(version.version)
    for (provider, wanted_by), versions in providers.items():
        says = f"{wanted_by.name} needs {', '.join(versions)} of {provider.name}, and {provider} does not have it"
        advice = "A newer system, or a build that is made for an older one; LD_LIBRARY_PATH may lead to an old copy."
        checks.append(problem(name, says, advice))
    return tuple(checks)
