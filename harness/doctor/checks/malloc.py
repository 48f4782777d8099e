"""Which malloc this process has, and whether what LD_PRELOAD names is there."""

from __future__ import annotations

import re

from harness.doctor.answers import not_here, note, ok, problem
from harness.doctor.linker import Linker
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_malloc", "malloc_in_use"]

_OTHERS = ("jemalloc", "tcmalloc", "mimalloc", "tbbmalloc", "snmalloc")


def check_malloc(here: Surroundings) -> tuple[Check, ...]:
    """The allocator by the libraries that are mapped, and a line for each preloaded one that is not."""
    if here.system != "Linux":
        return (not_here("malloc", f"read on Linux only, and this is {here.system}"),)
    return (_in_use(here), *_preloads(here))


def malloc_in_use(here: Surroundings) -> str:
    """``jemalloc`` and the like where such a library is mapped; else the C library's own: ``glibc``, ``musl``."""
    files = {line.rsplit("/", 1)[-1] for line in (here.text("proc/self/maps") or "").splitlines() if "/" in line}
    found = (name for name in _OTHERS if any(re.match(rf"lib{name}", file) for file in files))
    return next(found, here.libc[0] or "musl")


def _in_use(here: Surroundings) -> Check:
    name = malloc_in_use(here)
    if name == "glibc":
        return ok("malloc", f"glibc {here.libc[1]}'s own")
    if name in _OTHERS:
        says = f"{name} stands in for the C library's: the heap's figures (heap.used, heap.free) do not see it"
        advice = "Tensors are counted all the same. For growth of the heap, run once without the preloaded library."
        return note("malloc", says, advice)
    says = f"{name}'s own, which does not tell what its heap has in use"
    return note("malloc", says, "The heap's figures are missing; tensors are counted.")


def _preloads(here: Surroundings) -> tuple[Check, ...]:
    linker = Linker(here)
    checks = []
    for name in re.split(r"[ :]+", here.variable("LD_PRELOAD")):
        found, other = linker.find(name) if name else (None, "")
        if name and found is None:
            says = f"LD_PRELOAD names {name}, which {'does not fit' if other else 'is not there'}, so it is not loaded"
            advice = f"{other}. " if other else ""
            advice += "The loader says so once and goes on without it: mend the path, or unset LD_PRELOAD."
            checks.append(problem("LD_PRELOAD", says, advice))
        elif found is not None:
            checks.append(ok("LD_PRELOAD", f"{name} is there"))
    return tuple(checks)
