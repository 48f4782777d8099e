"""The one way to get a ledger."""

from __future__ import annotations

import sys
from typing import Literal

from harness.errors import UsageError
from harness.ledger.protocol import Ledger

__all__ = ["start_ledger", "why_not_native"]


def start_ledger(*, depth: int = 8, source: Literal["auto", "native", "dispatch"] = "auto") -> Ledger:
    """Start recording tensor storages in this process, and in this thread where the source knows only one.

    *depth* frames are kept a site, counted from the innermost frame of the user's own code (1 to 64).
    "auto" takes the best source that works here: :func:`why_not_native` says why it is not the native one, and where
    torch sees an accelerator it is the dispatch ledger, since the native one does not see a device's storages. Raises
    :class:`UsageError` for a source that does not work.
    """
    if not 1 <= depth <= 64:
        raise UsageError(f"depth={depth} is not between 1 and 64", help="8 frames reach the user's line nearly always.")
    if source not in ("auto", "native", "dispatch"):
        raise UsageError(f"source={source!r} is no ledger source", help='One of "auto", "native", "dispatch".')
    if source == "native" or (source == "auto" and not _has_accelerator()):
        why_not = why_not_native()
        if why_not is None:
            from harness.ledger.native_ledger import NativeLedger

            return NativeLedger(depth=depth).start()
        if source == "native":
            raise UsageError(f"the native ledger does not work here: {why_not}", help='Use source="dispatch".')
    from harness.ledger.dispatch import DispatchLedger  # imports torch, which `import harness` must not

    return DispatchLedger(depth=depth).start()


def _has_accelerator() -> bool:
    import torch

    return torch.accelerator.is_available()


def why_not_native() -> str | None:
    """Why the native ledger cannot serve in this process now, in a sentence; None if it can. Runs its self-test."""
    import torch  # noqa: F401 - its libraries must be loaded: the ledger stands in their slots

    try:
        from harness.ledger.self_test import what_fails
    except ImportError as error:
        return (
            f"its extension is not there ({error}); it is built at installation on Linux, on x86-64 and aarch64, with "
            f"a C compiler and the headers of Python {sys.version_info.major}.{sys.version_info.minor}"
        )
    return what_fails()
