"""Why memory that grew is no leak: the reasons that a recording shows, each with its bytes and its evidence."""

from __future__ import annotations

from harness.detect.assessment import Evidence
from harness.detect.policy import Policy
from harness.model.verdict import LookAlike

__all__ = ["look_alikes"]


def look_alikes(evidence: Evidence, policy: Policy) -> tuple[LookAlike, ...]:
    """All that apply, in the order in which they explain most."""
    return ()
