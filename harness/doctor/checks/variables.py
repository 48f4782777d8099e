"""Environment variables that are set and that nothing reads, each with the name that is meant."""

from __future__ import annotations

import difflib

from harness.doctor.answers import note, ok, problem
from harness.doctor.checks.malloc import malloc_in_use
from harness.doctor.named_in import named_in
from harness.doctor.names_read import NAMES_READ
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check
from harness.units import format_number_of

__all__ = ["check_variables"]

_PREFIXES = (
    *("PYTORCH_", "TORCH_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "TORCHELASTIC_", "CUDA_", "CUBLAS_", "CUBLASLT_"),
    *("OMP_", "MKL_", "KMP_", "GOMP_", "MALLOC_", "GLIBC_", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONMALLOC"),
)
"""NCCL's and the hub's are not among them: others read names with these prefixes that no list has."""

_TORCHS_ALONE = ("TORCHINDUCTOR_", "TORCHDYNAMO_")
"""A name with one of these that does not stand in torch's files is read by nothing."""

_NEAR = 0.88


def check_variables(here: Surroundings) -> tuple[Check, ...]:
    """A line for each that nothing reads; says nothing of a name that something else may read."""
    known = frozenset(NAMES_READ)
    ours = [name for name in here.environ if name.upper().startswith(_PREFIXES)]
    unknown = {name: _near(name) for name in ours if name not in known}
    suspicious = [name for name, near in unknown.items() if near or name.startswith(_TORCHS_ALONE)]
    # Only then, since it takes a second: another version of torch may read what the table does not have.
    folder = here.torch_folder
    read = named_in(folder, suspicious) if folder is not None and suspicious else frozenset()
    checks = [
        check
        for name, near in unknown.items()
        if name not in read and (check := _unread(here, name, near, looked=folder is not None)) is not None
    ]
    if checks:
        return tuple(checks)
    count = format_number_of(len(ours), "variable")
    return (ok("variables", f"{count} of torch, CUDA and the allocators, none misspelled"),)


def _near(name: str) -> str | None:
    """The name that is read and was meant; the same one in capitals first."""
    upper = name.upper()
    if upper in NAMES_READ:
        return upper
    return next(iter(difflib.get_close_matches(upper, NAMES_READ, n=1, cutoff=_NEAR)), None)


def _unread(here: Surroundings, name: str, near: str | None, *, looked: bool) -> Check | None:
    if near is not None:
        says = f"{name} is set, and nothing reads it"
        return problem("variables", says, f"Did you mean {near}? Else unset it.")
    glibcs = name.startswith("MALLOC_") and malloc_in_use(here) == "glibc"
    if glibcs or (looked and name.startswith(_TORCHS_ALONE)):
        owner = "glibc's malloc" if glibcs else "this torch"
        says = f"{name} is set, and {owner} has no setting of that name"
        return note("variables", says, "Unset it, or look the name up.")
    return None
