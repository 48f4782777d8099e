"""Whether native stacks can be recorded, which name what C and C++ code allocates."""

from __future__ import annotations

from harness.doctor.answers import not_here, note, ok
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_native_stacks"]


def check_native_stacks(here: Surroundings) -> tuple[Check, ...]:
    """memray, the only source of native stacks."""
    if here.probe.native_stacks:
        version = here.packages.get("memray", "")
        return (ok("native stacks", f"memray {version}".strip()),)
    if here.system == "Windows":
        return (not_here("native stacks", "memray does not exist for Windows"),)
    return (
        note(
            "native stacks",
            f"memray cannot be imported: {here.probe.error('native_stacks')}",
            "Growth that is neither tensors nor Python objects is found, and not traced to its lines. "
            "`pip install memray`.",
        ),
    )
