"""What an examination of the surroundings found: the document between ``harness.doctor`` and its renderer."""

from __future__ import annotations

from typing import Literal

import msgspec

from harness.model.environment import Tool

__all__ = ["CHECKUP_VERSION", "Check", "Checkup", "Status"]

CHECKUP_VERSION = 1

Status = Literal["ok", "note", "problem", "not_here"]
"""``note`` is worth knowing and fails nothing; ``not_here`` has no meaning on this machine, or cannot be told."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: ``says`` is a sentence with the value that was found, ``help`` what to try where that is needed."""

    name: str
    status: Status
    says: str
    help: str = ""
    group: str = ""


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    """All answers, in the order in which they are shown; those of a group are neighbours."""

    schema_version: int = CHECKUP_VERSION
    tool: Tool
    checks: tuple[Check, ...]

    def count(self, status: Status) -> int:
        return sum(check.status == status for check in self.checks)
