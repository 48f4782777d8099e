"""The four kinds of answer, so that a check reads as what it says."""

from __future__ import annotations

from harness.model.checkup import Check

__all__ = ["not_here", "note", "ok", "problem"]


def ok(name: str, says: str) -> Check:
    return Check(name=name, status="ok", says=says)


def note(name: str, says: str, help: str = "") -> Check:
    """Worth knowing, and nothing that has to be mended."""
    return Check(name=name, status="note", says=says, help=help)


def problem(name: str, says: str, help: str) -> Check:
    """Something will fail, or be done otherwise than was asked. *help* is what to try first."""
    return Check(name=name, status="problem", says=says, help=help)


def not_here(name: str, says: str) -> Check:
    """Has no meaning on this machine, or cannot be told."""
    return Check(name=name, status="not_here", says=says)
