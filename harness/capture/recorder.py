"""Runs the steps and reads the instruments at each boundary. Holds nothing itself: every sample is handed on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from harness.capture.held_signals import signals_held
from harness.capture.scope_owners import scope_owners
from harness.capture.wire import LedgerState, Sample, SiteDefinition
from harness.instruments import INSTRUMENTS, Instrument, TellsBeginnings
from harness.instruments.accelerator import Accelerator
from harness.instruments.settle import settle
from harness.ledger.protocol import Ledger, Mark, SiteState
from harness.model.peak import PeakComposition
from harness.model.recording import Absence

__all__ = ["PeakObserver", "Recorder", "Sink", "StepWatcher", "with_late_accelerator", "working_instruments"]

_clock = time.perf_counter_ns  # before a scenario can put something else in its place


class Sink(Protocol):
    """Where the recorder's messages go."""

    def __call__(self, message: Sample | SiteDefinition | LedgerState) -> None: ...


class StepWatcher(Protocol):
    """Something that wants to know which step is about to run."""

    def at_step(self, step: int) -> None: ...


class PeakObserver(Protocol):
    """Something that finds out what is alive at the peak of single steps."""

    def begin(self, step: int) -> None: ...

    def end(self, mark: Mark) -> PeakComposition | None: ...


def working_instruments(
    kinds: Sequence[Callable[[], Instrument]] = INSTRUMENTS,
) -> tuple[list[Instrument], tuple[Absence, ...]]:
    """Those of *kinds* that can read here, and why the others cannot."""
    working: list[Instrument] = []
    absent: list[Absence] = []
    for kind in kinds:
        instrument = kind()
        reason = instrument.absence()
        if reason is None:
            working.append(instrument)
        else:
            absent.append(Absence(instrument=instrument.name, reason=reason))
    return working, tuple(absent)


def with_late_accelerator(
    instruments: Sequence[Instrument], absent: tuple[Absence, ...]
) -> tuple[list[Instrument], tuple[Absence, ...]]:
    """The same, where a device is there only now: the program's imports may bring one (a backend that is a package of
    its own, a stand-in), or have changed what is visible. The others do not depend on what was imported."""
    if not any(one.instrument == Accelerator.name for one in absent):
        return list(instruments), absent
    late, still_absent = working_instruments((Accelerator,))
    others = tuple(one for one in absent if one.instrument != Accelerator.name)
    return [*instruments, *late], (*others, *still_absent)


class Recorder:
    """One subject's readings. *census* maps the ledger's storages to how many are held by autograd, and is asked at
    checkpoints only; *watchers* are told each step's number before it runs; *peak* watches the last step before each
    checkpoint."""

    def __init__(
        self,
        *,
        instruments: Sequence[Instrument],
        sink: Sink,
        collect: bool,
        ledger: Ledger | None = None,
        census: Callable[[], tuple[int, dict[int, int]]] | None = None,
        watchers: Sequence[StepWatcher] = (),
        peak: PeakObserver | None = None,
    ) -> None:
        self._instruments = instruments
        self._beginnings = [i.begin_step for i in instruments if isinstance(i, TellsBeginnings)]
        self._sink = sink
        self._collect = collect
        self._ledger = ledger
        self._census = census
        self._watchers = watchers
        self._peak = peak
        self._start: Mark | None = None
        self._interval: Mark | None = None
        self._finished: Mark | None = None
        self._told_sites: set[int] = set()
        self._boundaries = 0
        self._census_due = 0

    def begin(self) -> None:
        """Read once after set-up, before the first step (it counts as step -1)."""
        if self._ledger is not None:
            self._start = self._interval = self._ledger.mark()
        self._boundary(step=-1, step_ns=0)

    def run(self, step: Callable[[int], object], *, first: int, until: int) -> None:
        """Run steps *first* to *until* - 1; what a step raises comes through, and the samples before it are out."""
        clock = _clock
        for i in range(first, until):
            if self._peak is not None and i == until - 1:
                with signals_held():
                    self._peak.begin(i)
            self._begin_step(i)
            began = clock()
            step(i)
            self._boundary(step=i, step_ns=clock() - began)

    def end_step(self, step: int, step_ns: int) -> None:
        """Read at the end of a step that somebody else ran."""
        self._boundary(step=step, step_ns=step_ns)
        self._begin_step(step + 1)

    def _begin_step(self, step: int) -> None:
        for watcher in self._watchers:
            watcher.at_step(step)
        if self._beginnings:
            with signals_held():
                for begin in self._beginnings:  # last: it begins the time that is the program's
                    begin()

    def checkpoint(self) -> None:
        """Tell what is not told sample by sample: peaks since the start, what was alive at the last step's, and who
        holds the survivors."""
        if self._ledger is None or self._start is None:
            return
        peak = self._last_peak()
        in_graph = self._census()[1] if self._census is not None else {}
        self._sink(
            LedgerState(
                peak_bytes=self._ledger.peak_bytes(self._start),
                dropped=self._ledger.dropped,
                in_graph=in_graph,
                owners=scope_owners(self._ledger),
                peak=peak,
            )
        )

    def _last_peak(self) -> PeakComposition | None:
        if self._peak is None or self._finished is None:
            return None
        with signals_held():
            return self._peak.end(self._finished)

    def _boundary(self, *, step: int, step_ns: int) -> None:
        with signals_held():  # a timer's handler that raises a TimeoutError would pass for a reading that failed
            self._read(step, step_ns)

    def _read(self, step: int, step_ns: int) -> None:
        values: dict[str, int] = {}
        sites: tuple[SiteState, ...] = ()
        garbage = settle(collect=self._collect)
        if self._collect:
            values["python.garbage"] = garbage
        for instrument in self._instruments:
            if self._boundaries % instrument.every == 0:
                with contextlib.suppress(OSError):  # no descriptor is left, or /proc is out of reach: no reading
                    instrument.read(values)
        if self._ledger is not None:
            sites = self._read_ledger(self._ledger, values)
        self._boundaries += 1
        self._sink(Sample(step=step, step_ns=step_ns, values=values, sites=sites))

    def _read_ledger(self, ledger: Ledger, values: dict[str, int]) -> tuple[SiteState, ...]:
        assert self._interval is not None
        live = ledger.live()
        values["leak.bytes"] = live.total_bytes
        values["leak.tensors"] = live.storages
        values["peak.tensors"] = sum(ledger.peak_bytes(self._interval).values())
        values["allocations.step"] = ledger.allocations(self._interval)
        if self._census is not None and self._boundaries == self._census_due:
            values["graph.nodes"] = self._census()[0]
            self._census_due += 8 if self._boundaries < 128 else 32  # it costs milliseconds once a graph has grown
        sites = tuple(ledger.changed_sites())
        for state in sites:
            if state.site not in self._told_sites:
                self._told_sites.add(state.site)
                operator, frames = ledger.frames(state.site)
                self._sink(
                    SiteDefinition(
                        site=state.site, device=ledger.device_of(state.site), operator=operator, frames=frames
                    )
                )
        if self._boundaries:  # the start's own mark stands: what is born in step i then has birth i
            self._finished, self._interval = self._interval, ledger.mark()
        return sites
