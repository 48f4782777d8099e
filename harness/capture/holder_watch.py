"""Who holds the survivors: asked of the living objects of a subject, after its last step, and left as data."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from harness.capture.held_signals import signals_held
from harness.capture.wire import LostError
from harness.ledger.protocol import Ledger, Mark
from harness.ledger.sites import is_users_file
from harness.model.holding import HeldRecord
from harness.retainers.look import Look
from harness.retainers.survivors import Wanted

__all__ = ["HolderWatch"]

_LATER_THAN_ALL = 2**31 - 1
_BETWEEN = 32
"""Steps between two looks where the first was not taken in time."""


class HolderWatch:
    """Notes the sizes of all containers early, and looks once, last. Without *collect* garbage is looked at too;
    with *unfreeze* what was put beyond the collector as well."""

    def __init__(self, ledger: Ledger, *, collect: bool, unfreeze: bool = True) -> None:
        self._ledger = ledger
        self._collect = collect
        self._unfreeze = unfreeze
        self._look = Look(is_users=is_users_file, key_of=ledger.key_of, collects=collect)

    @property
    def has_measured(self) -> bool:
        """Whether sizes were noted."""
        return self._look.has_measured

    def measure(self, steps: int) -> None:
        """Note all sizes, after *steps* steps."""
        with signals_held():
            if self._collect:
                gc.collect()
            self._look.measure(steps)

    def look(self, sites: Sequence[int], steps: int, step: Callable[[int], object] | None) -> HeldRecord:
        """Who holds the survivors of *sites* after *steps* steps. More steps are run, under a tracer, to see at which
        lines containers grow: the measured part is over, and what they raise is nobody's business any more. Without
        *step* there are none, and no lines."""
        run = _MoreSteps(step, steps) if step is not None else None
        if run is not None and not self._look.has_measured:
            self.measure(steps)
            run.some(lambda: False, _BETWEEN)
        if self._collect:
            gc.collect()
        if self._unfreeze:
            gc.unfreeze()
        wanted = [
            Wanted(site=s.site, key=s.key, bytes=s.bytes)
            for s in self._ledger.survivors(Mark(number=_LATER_THAN_ALL, allocations=0, peak_bytes={}))
            if s.site in sites
        ]
        try:
            if run is None:
                return self._look.look(wanted, step=steps, run_steps=None)
            return self._look.look(wanted, step=run.done, run_steps=run.some)
        except LostError:
            raise
        except Exception as error:  # the verdict stands without it, and says so
            return HeldRecord(steps=0, objects=0, failed=f"{type(error).__name__}: {error}")


class _MoreSteps:
    """Goes on with the program after its measured steps; what it raises ends it, and is nobody's business."""

    def __init__(self, step: Callable[[int], object], done: int) -> None:
        self._step = step
        self.done = done
        self._ended = False

    def some(self, is_enough: Callable[[], bool], most: int) -> None:
        """Up to *most* more steps."""
        try:
            for _ in range(0 if self._ended else most):
                if is_enough():
                    return
                self._step(self.done)
                self.done += 1
        except LostError:
            raise
        except BaseException:  # SystemExit too: it has run long enough
            self._ended = True
