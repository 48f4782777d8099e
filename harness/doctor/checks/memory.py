"""How much memory a program can still take here, and which limit it meets first."""

from __future__ import annotations

from harness.doctor.answers import note, ok, problem
from harness.doctor.cgroups import memory_limits
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check
from harness.units import format_bytes

__all__ = ["check_memory"]

_NEEDED = 512 * 2**20
"""A subject that has imported torch has some 220 MB, and the server that starts it as much again."""


def check_memory(here: Surroundings) -> tuple[Check, ...]:
    """The machine, the tightest control group, and the limit on address space."""
    return (_room(here), *_address_space(here))


def _room(here: Surroundings) -> Check:
    room = here.available_bytes
    says = f"{format_bytes(room)} free of {format_bytes(here.memory_bytes)}"
    limits = [limit for limit in memory_limits(here) if limit.limit_bytes < here.memory_bytes]
    if limits:
        tightest = limits[0]
        room = min(room, tightest.room_bytes)
        says += (
            f"; control group {tightest.group} allows {format_bytes(tightest.limit_bytes)}, "
            f"{format_bytes(max(tightest.room_bytes, 0))} of it left"
        )
    elif here.system == "Linux":
        says += "; no control group limits it"
    if room < _NEEDED:
        advice = "torch and a program need more than that: raise the limit (docker --memory), or end what fills it."
        return problem("memory", says, advice)
    return ok("memory", says)


def _address_space(here: Surroundings) -> tuple[Check, ...]:
    limit = here.address_space_bytes
    if limit is None:
        return ()
    says = f"limited to {format_bytes(limit)} (ulimit -v): torch maps far more than it uses"
    advice = "`ulimit -v unlimited`; a limit that counts what is used is a control group's."
    return (note("address space", says, advice),)
