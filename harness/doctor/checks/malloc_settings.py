"""Settings of malloc and of Python's own allocator: what they are, and which of them mean nothing here."""

from __future__ import annotations

import difflib

from harness.doctor.answers import note, ok, problem
from harness.doctor.checks.malloc import malloc_in_use
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["GLIBC_VARIABLES", "check_malloc_settings"]

GLIBC_VARIABLES = (
    "MALLOC_ARENA_MAX",
    "MALLOC_ARENA_TEST",
    "MALLOC_CHECK_",
    "MALLOC_MMAP_MAX_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_PERTURB_",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
)
"""mallopt(3); the trailing underscores are in the names. Each takes a number."""

_TUNABLES = (
    "arena_max",
    "arena_test",
    "check",
    "hugetlb",
    "mmap_max",
    "mmap_threshold",
    "mxfast",
    "perturb",
    "tcache_count",
    "tcache_max",
    "tcache_unsorted_limit",
    "top_pad",
    "trim_threshold",
)
"""Those of glibc.malloc: https://sourceware.org/glibc/manual/latest/html_node/Memory-Allocation-Tunables.html"""

_GUARDED = "every object has guard bytes around it: sizes and times are not those of a normal run"

_PYTHON_MALLOC = {
    "malloc": "every Python object comes from malloc: the heap's figure sees them, and Python is slower",
    "malloc_debug": _GUARDED,
    "debug": _GUARDED,
    "pymalloc_debug": _GUARDED,
}


def check_malloc_settings(here: Surroundings) -> tuple[Check, ...]:
    """One line for all that are in force, and one for each that is wrong or has no effect."""
    return (*_variables(here), *_tunables(here), *_python(here)) or (ok("malloc's settings", "none is set"),)


def _variables(here: Surroundings) -> tuple[Check, ...]:
    checks = []
    malloc = malloc_in_use(here)
    for name in GLIBC_VARIABLES:
        value = here.variable(name)
        if not value:
            continue
        if not value.lstrip("-").isdigit():
            says, advice = f"{name}={value!r} is not a number, and glibc does not follow it", "Give a number."
            checks.append(problem("malloc's settings", says, advice))
        elif malloc != "glibc":
            says, advice = f"{name}={value} has no effect: only glibc reads it, and {malloc} is in use", "Unset it."
            checks.append(note("malloc's settings", says, advice))
        else:
            checks.append(ok("malloc's settings", f"{name}={value}"))
    conf = here.variable("MALLOC_CONF")
    if conf and malloc != "jemalloc":
        says = f"MALLOC_CONF={conf!r} has no effect: only jemalloc reads it, and {malloc} is in use"
        advice = "Preload jemalloc with LD_PRELOAD, or unset it."
        checks.append(note("malloc's settings", says, advice))
    return tuple(checks)


def _tunables(here: Surroundings) -> tuple[Check, ...]:
    checks = []
    for tunable in filter(None, here.variable("GLIBC_TUNABLES").split(":")):
        name, equals, value = tunable.partition("=")
        prefix, _, short = name.rpartition(".")
        if not equals or not value:
            says, advice = (
                f"GLIBC_TUNABLES holds {tunable!r}, which is no name=value",
                "Write glibc.malloc.arena_max=2.",
            )
            checks.append(problem("GLIBC_TUNABLES", says, advice))
        elif prefix == "glibc.malloc" and short not in _TUNABLES:
            near = difflib.get_close_matches(short, _TUNABLES, n=1)
            says = f"GLIBC_TUNABLES sets {name}, which glibc does not read"
            advice = f"Did you mean glibc.malloc.{near[0]}?" if near else f"One of {', '.join(_TUNABLES)}."
            checks.append(problem("GLIBC_TUNABLES", says, advice))
        else:
            checks.append(ok("GLIBC_TUNABLES", tunable))
    return tuple(checks)


def _python(here: Surroundings) -> tuple[Check, ...]:
    value = here.variable("PYTHONMALLOC")
    if value not in _PYTHON_MALLOC:
        return ()
    return (note("PYTHONMALLOC", f"{value}: {_PYTHON_MALLOC[value]}"),)
