"""Which instruments read here, and why the others do not."""

from __future__ import annotations

from harness.doctor.answers import not_here, ok, problem
from harness.doctor.probe import FAILS
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_instruments"]

_HELP = "What it measures is missing from every report here; the others still read."


def check_instruments(here: Surroundings) -> tuple[Check, ...]:
    """One line for all that work, and one for each that does not."""
    told = here.probe.instruments
    if told is None:
        why = here.probe.error("instruments")
        return (problem("instruments", f"they cannot be tried: {why}", _HELP),)
    works = [name for name, absence in told.items() if absence is None]
    absent = {name: absence for name, absence in told.items() if absence is not None}
    if works:
        first = ok("instruments", f"{len(works)} of {len(told)} read: {', '.join(works)}")
    else:
        first = problem("instruments", f"none of {len(told)} reads here", _HELP)
    return (first, *(_absent(name, absence) for name, absence in absent.items()))


def _absent(name: str, why: str) -> Check:
    return problem(name, why, _HELP) if why.startswith(FAILS) else not_here(name, why)
