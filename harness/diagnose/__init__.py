"""Says why: from a verdict's suspects and faults to findings with a cause, a place and what to change."""

from harness.diagnose.conservation import account_for
from harness.diagnose.engine import cut_orders, diagnose
from harness.diagnose.native import needs_native_stacks

__all__ = ["account_for", "cut_orders", "diagnose", "needs_native_stacks"]
