"""Says why: from a verdict's suspects and faults to findings with a cause, a place and what to change."""

from harness.diagnose.engine import diagnose
from harness.diagnose.native import needs_native_stacks

__all__ = ["diagnose", "needs_native_stacks"]
