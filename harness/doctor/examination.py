"""Takes one check after the other; one that fails is an answer too, and the others follow."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from harness._version import __version__
from harness.doctor.answers import note
from harness.doctor.checks import CHECKS
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check, Checkup
from harness.model.environment import Tool

__all__ = ["examine"]

_Look = Callable[[Surroundings], tuple[Check, ...]]


def examine(here: Surroundings, checks: tuple[tuple[str, tuple[_Look, ...]], ...] = CHECKS) -> Checkup:
    """All *checks* of *here*, in their order."""
    return Checkup(
        tool=Tool(name="torch-leak-harness", version=__version__),
        checks=tuple(
            msgspec.structs.replace(check, group=group)
            for group, looks in checks
            for look in looks
            for check in _answers(look, here)
        ),
    )


def _answers(look: _Look, here: Surroundings) -> tuple[Check, ...]:
    try:
        return look(here)
    except Exception as error:
        name = look.__name__.removeprefix("check_").replace("_", " ")
        says = f"this check itself failed: {type(error).__name__}: {error}"
        return (note(name, says, "Please report it: the fault is the tool's."),)
