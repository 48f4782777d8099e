"""Find out whether a PyTorch program leaks, why, where, who holds it, and what to change.

Importing this package loads neither torch nor numpy nor scipy, so that a scenario may import from it for free.
"""

from typing import TYPE_CHECKING, Any

from harness._version import __version__
from harness.errors import HarnessError
from harness.scenario import (
    Scenario,
    fault,
    gradient_wrong,
    higher_peak,
    leak,
    look_alike,
    more_allocations,
    slower,
    stable,
)

if TYPE_CHECKING:
    from harness.inprocess import detect, run

__all__ = [
    "HarnessError",
    "Scenario",
    "__version__",
    "detect",
    "fault",
    "gradient_wrong",
    "higher_peak",
    "leak",
    "look_alike",
    "more_allocations",
    "run",
    "slower",
    "stable",
]


def __getattr__(name: str) -> Any:
    """``run`` and ``detect`` need torch, so they are loaded when they are asked for."""
    if name in ("detect", "run"):
        from harness import inprocess

        return getattr(inprocess, name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
