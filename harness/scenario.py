"""What a scenario file may say of itself. None of it is needed: any Python file with a ``step`` is a scenario.

from harness import Scenario, leak

SCENARIO = Scenario(
    title="A list keeps every batch",
    pitfall="The list outlives the loop, so every tensor in it does too.",
    fix="Keep numbers, not tensors; or bound the list.",
    tags=("memory",),
    expect=leak("held_reference"),
)
"""

from __future__ import annotations

import sys
from typing import cast

import msgspec

from harness.errors import ScenarioError
from harness.model.expectation import CAUSES, FAULTS, LOOK_ALIKES, Expectation

__all__ = [
    "Scenario",
    "fault",
    "gradient_wrong",
    "higher_peak",
    "leak",
    "look_alike",
    "more_allocations",
    "slower",
    "stable",
]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario's title, its lesson, and what is expected of ``step`` (``fixed_step`` is always expected stable).

    ``pitfall`` and ``fix`` are sentences for the report. ``fresh_interpreter`` asks for a new Python instead of a
    fork of one that has imported torch (seconds slower to start; for code that cannot live in a forked process).
    """

    title: str = ""
    pitfall: str = ""
    fix: str = ""
    tags: tuple[str, ...] = ()
    expect: Expectation = Expectation(kind="stable")
    fresh_interpreter: bool = False


def stable() -> Expectation:
    """Expect no leak and no fault: the default."""
    return Expectation(kind="stable")


def leak(cause: str) -> Expectation:
    """Expect a leak with this cause; :class:`ScenarioError` for an unknown one."""
    return Expectation(kind="leak", cause=_one_of("cause", cause, CAUSES))


def look_alike(look_alike: str) -> Expectation:
    """Expect growth that is no leak, of this class; :class:`ScenarioError` for an unknown one."""
    return Expectation(kind="look_alike", look_alike=_one_of("look-alike", look_alike, LOOK_ALIKES))


def fault(fault: str) -> Expectation:
    """Expect a fault of this kind; :class:`ScenarioError` for an unknown one."""
    return Expectation(kind="fault", fault=_one_of("fault", fault, FAULTS))


def slower(at_least: float) -> Expectation:
    """Expect ``fixed_step`` to have at least *at_least* times the items a second of ``step``."""
    return Expectation(kind="slower", at_least=_ratio(at_least))


def higher_peak(at_least: float) -> Expectation:
    """Expect ``step`` to have at least *at_least* times the peak tensor bytes of ``fixed_step``."""
    return Expectation(kind="higher_peak", at_least=_ratio(at_least))


def more_allocations(at_least: float) -> Expectation:
    """Expect ``step`` to allocate at least *at_least* times as many storages as ``fixed_step``."""
    return Expectation(kind="more_allocations", at_least=_ratio(at_least))


def gradient_wrong() -> Expectation:
    """Expect a gradient that is wrong without anything being raised."""
    return Expectation(kind="gradient_wrong")


def _one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ScenarioError(f"{value!r} is no {what} that this tool knows", help=f"One of: {', '.join(known)}.")
    return value


def _ratio(value: object) -> float:
    # Infinity too is refused: JSON has no word for it, and nothing is that much slower.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < cast("float", value) <= sys.float_info.max:
        raise ScenarioError(f"at_least={value!r} is not a ratio above 0", help="Write for example slower(at_least=4).")
    return float(cast("float", value))
