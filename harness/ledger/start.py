"""The one way to get a ledger."""

from __future__ import annotations

from typing import Literal

from harness.errors import UsageError
from harness.ledger.protocol import Ledger

__all__ = ["start_ledger"]


def start_ledger(*, depth: int = 8, source: Literal["auto", "native", "dispatch"] = "auto") -> Ledger:
    """Start recording tensor storages in this process, and in this thread where the source knows only one.

    *depth* frames are kept a site, counted from the innermost frame of the user's own code (1 to 64).
    "auto" takes the best source that works here. Raises :class:`UsageError` for a source that does not.
    """
    if not 1 <= depth <= 64:
        raise UsageError(f"depth={depth} is not between 1 and 64", help="8 frames reach the user's line nearly always.")
    if source not in ("auto", "native", "dispatch"):
        raise UsageError(f"source={source!r} is no ledger source", help='One of "auto", "native", "dispatch".')
    if source == "native":
        raise UsageError("the native ledger is not part of this version", help='Use source="dispatch", or "auto".')
    from harness.ledger.dispatch import DispatchLedger  # imports torch, which `import harness` must not

    return DispatchLedger(depth=depth).start()
