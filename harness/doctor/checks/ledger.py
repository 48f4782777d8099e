"""Which ledger records tensors here, and why not the better one."""

from __future__ import annotations

from harness.doctor.answers import not_here, note, ok, problem
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check

__all__ = ["check_ledger"]

_REBUILD = (
    "The dispatch ledger serves meanwhile: slower, one thread, compiled code runs uncompiled. With a C compiler and "
    "Python's headers, `pip install --force-reinstall --no-deps torch-leak-harness` builds the native one."
)
_REPORT = "Please report it with this output: both ledgers should agree with what torch allocates."


def check_ledger(here: Surroundings) -> tuple[Check, ...]:
    """The native ledger's self-test and the dispatch ledger's, as another process ran them."""
    facts = here.probe.ledger
    if facts is None:
        why = here.probe.error("ledger")
        if here.probe.torch is None:
            return (not_here("ledger", f"no ledger without torch ({why})"),)
        return (problem("ledger", f"the ledgers' self-test failed: {why}", _REPORT),)
    devices = here.probe.devices
    accelerator = None if devices is None else devices.accelerator
    return (_native(here, facts.native), _dispatch(facts.dispatch, accelerator))


def _native(here: Surroundings, why_not: str | None) -> Check:
    if why_not is None:
        says = "works: a known allocation was seen to the byte, and the frames are the interpreter's"
        return ok("native ledger", says)
    if here.system != "Linux":
        return not_here("native ledger", f"needs Linux, and this is {here.system}")
    return note("native ledger", f"does not work here: {why_not}", _REBUILD)


def _dispatch(why_not: str | None, accelerator: str | None) -> Check:
    if why_not is None:
        taken = f"; it is taken here, since it sees {accelerator} tensors too" if accelerator else ""
        return ok("dispatch ledger", f"works: a known storage was seen, and seen to go{taken}")
    return problem("dispatch ledger", f"does not work here: {why_not}", _REPORT)
