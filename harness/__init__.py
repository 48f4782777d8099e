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
    from harness.gradients import GradientCollector, GradientWatch, central_difference, check_gradients
    from harness.inprocess import detect, run
    from harness.scope import NullScope, ResourceScope, batches

__all__ = [
    "GradientCollector",
    "GradientWatch",
    "HarnessError",
    "NullScope",
    "ResourceScope",
    "Scenario",
    "__version__",
    "batches",
    "central_difference",
    "check_gradients",
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
    """``run``, ``detect``, the scopes and gradients need torch, so they are loaded when they are asked for."""
    if name in ("detect", "run"):
        from harness import inprocess

        return getattr(inprocess, name)
    if name in ("NullScope", "ResourceScope", "batches"):
        from harness import scope

        return getattr(scope, name)
    if name in ("GradientCollector", "GradientWatch", "central_difference", "check_gradients"):
        from harness import gradients

        return getattr(gradients, name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
