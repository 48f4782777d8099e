"""Says why: from a verdict's suspects and faults to findings with a cause, a place and what to change."""

from harness.diagnose.engine import diagnose

__all__ = ["diagnose"]
