"""Whether /dev/shm is large enough for batches that worker processes hand over."""

from __future__ import annotations

from harness.doctor.answers import note, ok, problem
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check
from harness.units import format_bytes

__all__ = ["check_shared_memory"]

_SMALL = 512 * 2**20
"""Docker's default is 64 MiB, in which a few batches of images do not find room."""


def check_shared_memory(here: Surroundings) -> tuple[Check, ...]:
    """The size of the file system; a worker that meets its end dies of SIGBUS."""
    if here.system != "Linux":
        return ()
    size = here.shared_memory_bytes
    if size is None:
        says = "there is no /dev/shm: DataLoader's workers cannot hand over tensors"
        return (problem("shared memory", says, "Mount a tmpfs there."),)
    says = f"/dev/shm has {format_bytes(size)}"
    if size < _SMALL:
        advice = "DataLoader's workers die of a bus error when it is full: docker run --shm-size=2g, or --ipc=host."
        return (note("shared memory", says, advice),)
    return (ok("shared memory", says),)
