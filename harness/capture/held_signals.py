"""Keeps the measured program's signal handlers out of our code: what they raise belongs in the program's own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["HELD", "signals_held"]

HELD = (  # those that programs have handlers or timers for
    signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1, signal.SIGINT, signal.SIGTERM,
)  # fmt: skip

_mask = signal.pthread_sigmask  # before a scenario can put something else in its place


@contextmanager
def signals_held() -> Iterator[None]:
    """None of :data:`HELD` is handled in this thread inside the block. What came before it, or meanwhile, is handled
    on the way in or out, and what a handler raises comes from there."""
    before = _mask(signal.SIG_BLOCK, ())
    try:
        _mask(signal.SIG_BLOCK, HELD)  # in the try: a handler may raise from here, with the signals blocked already
        yield
    finally:
        _mask(signal.SIG_SETMASK, before)
