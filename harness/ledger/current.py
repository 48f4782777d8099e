"""The process's running ledger: one, shared by everybody who needs it, and counted."""

from __future__ import annotations

import threading

from harness.ledger.protocol import Ledger

__all__ = ["announce", "running", "share", "shared", "unshare", "withdraw"]

_lock = threading.RLock()
_running: list[Ledger] = []
_users = 0
_shared: Ledger | None = None


def announce(ledger: Ledger) -> None:
    """A ledger that has begun to record says so."""
    with _lock:
        if not any(known is ledger for known in _running):
            _running.append(ledger)


def withdraw(ledger: Ledger) -> None:
    """A ledger that stops says so."""
    with _lock:
        _running[:] = [known for known in _running if known is not ledger]


def running() -> Ledger | None:
    """The ledger that records now: the one that was started last, where there are several."""
    return _running[-1] if _running else None


def share() -> Ledger:
    """The running ledger; one is started where there is none. Each call is answered by one :func:`unshare`."""
    global _users, _shared
    with _lock:
        ledger = running()
        if ledger is None:
            from harness.ledger.start import start_ledger

            ledger = _shared = start_ledger()
            announce(ledger)
            _users = 0
        _users += 1
        return ledger


def unshare() -> None:
    """One user less. A dispatch ledger that was started for the users ends with the last of them, since it is slow and
    a mode of the thread that must be left in order; a native one goes on."""
    global _users, _shared
    with _lock:
        _users -= 1
        if _users <= 0 and _shared is not None and _shared.source == "dispatch":
            ledger, _shared = _shared, None
            withdraw(ledger)
            ledger.stop()


def shared() -> Ledger | None:
    """The ledger that was started for those who share it."""
    return _shared
