"""A container or name that outlives the step keeps tensors."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["held_reference"]


def held_reference(case: Case) -> Opinion | None:
    """Asked of surviving storages that no graph holds."""
    if case.suspect.site is None and case.suspect.metric not in ("leak.bytes", "leak.tensors", "device.allocated"):
        return None
    return Opinion(
        cause="held_reference",
        explanation=f"something that outlives the step keeps the tensors allocated at {case.place}",
        fix="Drop them when the step is done, keep a number or a detached copy instead, or bound the container.",
    )
