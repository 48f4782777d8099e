"""torch's threads against the processors that this process may use."""

from __future__ import annotations

import math

from harness.doctor.answers import not_here, note, ok, problem
from harness.doctor.cgroups import cpu_quota
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_threads"]

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def check_threads(here: Surroundings) -> tuple[Check, ...]:
    """One line with the numbers side by side, and one for each variable that is no number."""
    return (_torch(here), *_unreadable(here), *_different(here))


def _torch(here: Surroundings) -> Check:
    quota = cpu_quota(here)
    usable = here.usable_cpus if quota is None else min(here.usable_cpus, max(1, math.ceil(quota)))
    cpus = f"{here.usable_cpus} usable processors"
    if quota is not None:
        cpus += f", of which a control group allows {quota:.3g}"
    torch = here.probe.torch
    if torch is None:
        return not_here("threads", f"{cpus}; torch's threads cannot be told without torch")
    says = f"torch takes {torch.threads} threads in an operator and {torch.interop_threads} between them; {cpus}"
    if torch.threads > usable:
        advice = f"They take turns on {usable}: OMP_NUM_THREADS={usable}, or torch.set_num_threads({usable})."
        return problem("threads", says, advice)
    return ok("threads", says)


def _unreadable(here: Surroundings) -> tuple[Check, ...]:
    checks = []
    for name in _VARIABLES:
        value = here.variable(name)
        numbers = value.split(",") if name == "OMP_NUM_THREADS" else [value]  # a list is one number for each level
        if value and not all(number.strip().isdigit() and int(number) for number in numbers):
            says = f"{name}={value!r} is no number of threads, and is not followed"
            checks.append(problem("threads", says, "Give a whole number above zero."))
    return tuple(checks)


def _different(here: Surroundings) -> tuple[Check, ...]:
    """What was asked for and is not what torch took, or is asked for in two ways."""
    omp, mkl = here.variable("OMP_NUM_THREADS"), here.variable("MKL_NUM_THREADS")
    torch = here.probe.torch
    checks = []
    if omp and mkl and omp != mkl:
        says = f"OMP_NUM_THREADS={omp} and MKL_NUM_THREADS={mkl}: matrix products take another number than the rest"
        checks.append(note("threads", says, "Set both alike, or leave MKL's to follow OMP's."))
    elif torch is not None and omp.isdigit() and int(omp) > torch.threads:
        says = f"OMP_NUM_THREADS={omp} asks for more than the {torch.threads} that torch took"
        checks.append(note("threads", says, "Nothing is lost by it: there are no processors for the others."))
    return tuple(checks)
