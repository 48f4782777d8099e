"""Find out whether a PyTorch program leaks, why, where, who holds it, and what to change.

Importing this package loads neither torch nor numpy nor scipy, so that a scenario may import from it for free.
"""

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

__all__ = [
    "HarnessError",
    "Scenario",
    "__version__",
    "fault",
    "gradient_wrong",
    "higher_peak",
    "leak",
    "look_alike",
    "more_allocations",
    "slower",
    "stable",
]
