"""The user's own libraries (custom operators): whether each is there, fits, and can be loaded behind torch."""

from __future__ import annotations

from pathlib import Path

from harness.doctor.answers import not_here, ok, problem
from harness.doctor.checks.libraries import said_of
from harness.doctor.elf import ElfError
from harness.doctor.linker import Linker
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_custom_libraries"]


def check_custom_libraries(here: Surroundings) -> tuple[Check, ...]:
    """A line for each that was asked for; nothing where none was."""
    return tuple(check for library in here.libraries for check in _check(here, library))


def _check(here: Surroundings, library: Path) -> tuple[Check, ...]:
    if not library.is_file():
        says = f"{library} is not there" if not library.exists() else f"{library} is not a file"
        return (_problem(library, says, "Was it built, and is it installed with the package that loads it?"),)
    read = _read(here, library) if here.system == "Linux" else ()
    if read:
        return read
    if here.probe.torch is None:
        return (not_here(library.name, "was not loaded, since torch cannot be imported"),)
    why_not = here.probe.libraries.get(str(library))
    if why_not is None:
        return (ok(library.name, "is there, and can be loaded behind torch"),)
    return (_problem(library, f"cannot be loaded: {why_not}", _help(here, why_not)),)


def _read(here: Surroundings, library: Path) -> tuple[Check, ...]:
    """What is wrong with it by its own headers: these sentences name more than the loader's."""
    folder = here.torch_folder
    try:
        linked = Linker(here).link((library,), loaded=() if folder is None else (folder / "lib",))
    except (ElfError, OSError) as error:
        return (_problem(library, str(error), "Build it again, on a machine of this kind."),)
    return said_of(linked, library.name)


def _help(here: Surroundings, why_not: str) -> str:
    version = here.packages.get("torch", "this torch")
    if "undefined symbol" in why_not:
        return f"It was built against another torch than {version}: build it again with this one."
    if "died of" in why_not or "did not end" in why_not:
        return "What it runs when it is loaded (its registrations, its static objects) is the first suspect."
    return f"Build it again with torch {version}."


def _problem(library: Path, says: str, advice: str) -> Check:
    return problem(library.name, says, advice)
