"""Everything that happens inside a measured process, from its first line to its last."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import os
import random
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from harness.capture import wire
from harness.capture.commands import Commands
from harness.capture.fault_table import fault_of
from harness.capture.following import Following, follow
from harness.capture.held_signals import HELD, signals_held
from harness.capture.memory_watch import MemoryWatch
from harness.capture.module import LoadedScenario, check_that_it_ran, load
from harness.capture.raised import ending_of
from harness.capture.recorder import Recorder, with_late_accelerator, working_instruments
from harness.capture.surroundings import surroundings
from harness.errors import ScenarioError
from harness.instruments import Instrument
from harness.model.native import NativeRecord
from harness.model.recording import Absence, Ending, FaultRecord

__all__ = ["WIRE_FD", "main", "run_job"]

_soft_limit, _hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
WIRE_FD = 5000 if _hard_limit > 5000 or _hard_limit == resource.RLIM_INFINITY else _soft_limit - 1
"""Where the private pipe lies: above the 1024, 2048 or 4096 descriptors that programs close which mean to close all."""

# A scenario may put something else in their place, in passing (a mock) or for good.
_getpid, _exit = os.getpid, os._exit

_TIDYING_S = 2.0


def main() -> None:
    """A fresh interpreter's way in: the first message on the wire is the job."""
    reader = Commands(WIRE_FD)
    first = reader.next()
    assert isinstance(first, wire.Launch)
    import torch  # noqa: F401 - before the heap is frozen, as the server does it for its forks

    gc.collect()
    gc.freeze()
    run_job(first.job, reader, frozen=gc.get_freeze_count())


def run_job(job: wire.Job, reader: Commands | None = None, *, frozen: int = 0) -> None:
    """Run the job and end the process. Never returns: what a fork inherited must not run on after it.

    *frozen* is how many objects lie in the collector's permanent generation already.
    """
    code = 1
    try:
        code = _exit_code_of(_Subject(job, reader or Commands(WIRE_FD), frozen))
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()  # the scenario may have closed it, or put something else in its place
        _exit(code)


def _exit_code_of(subject: _Subject) -> int:
    try:
        try:
            subject.run()
            _tidy_up()
        except wire.LostError:
            raise
        except BaseException:
            wire.send(WIRE_FD, wire.Broken(detail=traceback.format_exc()))
            return 1
    except wire.LostError:
        return wire.WIRE_LOST  # the parent, if it is still there, knows this code
    return 0


def _tidy_up() -> None:
    """Run what waits for the interpreter's end, which does not come: temporary folders are removed there, of loaders'
    workers among others. It may take two seconds, then the kernel ends this process; nothing of it counts any more."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, _TIDYING_S)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()


class _Subject:
    def __init__(self, job: wire.Job, reader: Commands, frozen: int) -> None:
        self._job = job
        self._frozen = frozen
        self._reader = reader
        self._pid = _getpid()
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._held = False
        self._started = False
        self._faults: list[FaultRecord] = []
        self._following = Following()
        self._holders: Any = None
        self._cutter: Any = None
        self._gradients: Any = None
        self._memory: MemoryWatch | None = None
        self._steps = 0
        self._scenario: LoadedScenario | None = None

    def run(self) -> None:
        self._send(wire.Ready(pid=self._pid))
        _prepare(self._job)
        instruments, absent = working_instruments()
        self._following = follow(self._job.role)
        if self._job.role == "native":
            from harness.capture.ctypes_heap import lead_ctypes_through_the_interpreter

            lead_ctypes_through_the_interpreter()
        if self._job.role == "reads":
            from harness.capture.read_watch import watch_reads

            watch_reads()
        ending = self._guarded(self._load)
        instruments, absent = with_late_accelerator(instruments, absent)
        if self._job.role == "malloc":  # what the others allocate in passing moves the heap's figure
            instruments = [instrument for instrument in instruments if "heap.used" in instrument.metrics]
        if self._scenario is not None:
            scenario = self._scenario
            ending = self._guarded(lambda: self._measure(scenario, instruments, absent))
            if scenario.teardown is not None:
                after = self._guarded(scenario.teardown)
                ending = ending or after
        self._send(
            wire.Over(
                ending=ending or Ending(status="ok"),
                started=self._started,
                faults=self._all_faults(),
                collector_enabled=gc.isenabled(),
                frozen_growth=self._frozen_growth(),
                trimmed_bytes=self._memory.trimmed_bytes if self._memory is not None else None,
                cuts=self._cutter.cuts if self._cutter is not None else 0,
                ran_backward=self._following.ran_backward,
                gradients=self._gradients.table if self._gradients is not None else None,
                remarks=self._gradients.remarks if self._gradients is not None else (),
            )
        )

    def _frozen_growth(self) -> int:
        """Counting them touches each, and copies its page from the server's: 30 ms, so only where somebody asks."""
        return max(0, gc.get_freeze_count() - self._frozen) if self._job.role in ("plain", "uncollected") else 0

    def _all_faults(self) -> tuple[FaultRecord, ...]:
        if self._gradients is not None:
            return tuple(self._gradients.faults)
        return (*self._faults, *self._following.faults)

    def _send(self, message: wire.Message) -> None:
        if _getpid() != self._pid:
            _exit(0)  # a copy that the scenario forked came back from its step: the measured one goes on
        with signals_held():  # a handler that raises would leave half a message
            wire.send(WIRE_FD, message)

    def _load(self) -> None:
        self._scenario = load(self._job.path, self._job.name, self._job.variant)

    def _measure(
        self, scenario: LoadedScenario, instruments: Sequence[Instrument], absent: tuple[Absence, ...]
    ) -> None:
        ledger = self._following.ledger
        self._send(
            wire.Facts(
                scenario=scenario.facts,
                environment=surroundings(self._job.seed),
                absent=absent,
                ledger_source=ledger.source if ledger else None,
                ledger_blind_to=ledger.blind_to if ledger else None,
            )
        )
        self._started = True
        if scenario.setup is not None:
            scenario.setup()
        if self._job.cut is not None:
            from harness.capture.cutting import Cutter

            self._cutter = Cutter(self._job.cut)
        if ledger is not None:
            from harness.capture.holder_watch import HolderWatch

            self._holders = HolderWatch(ledger, collect=self._job.role != "uncollected")
        if self._job.role == "native":
            self._follow_natively(scenario.step)
            return
        if self._job.role == "gradients":
            self._follow_gradients(scenario.step)
            return
        recorder = Recorder(
            instruments=instruments,
            sink=self._send,
            collect=self._job.role != "uncollected",
            ledger=ledger,
            census=self._following.census(),
            watchers=self._following.watchers,
            peak=self._following.peak,
        )
        if self._job.role == "plain":
            self._memory = MemoryWatch.where_possible()
        recorder.begin()
        self._steps_until_told(recorder, scenario.step)

    def _steps_until_told(self, recorder: Recorder, step: Callable[[int], object]) -> None:
        told = wire.Go(until=self._job.first_stop)
        while self._steps < told.until:
            self._run_until(told.until, recorder, step)
            recorder.checkpoint()
            if self._job.watch_holders and self._holders is not None and not self._holders.has_measured:
                self._holders.measure(self._steps)
            self._send(wire.Checkpoint(steps=self._steps))
            answer = self._reader.next()
            assert isinstance(answer, wire.Go)
            told = answer
        if self._memory is not None and self._steps:
            memory_map = self._memory.finish(self._steps - 1)
            if memory_map is not None:
                self._send(wire.Mapped(memory_map=memory_map))
        if told.look_at is not None and self._holders is not None:
            self._send(wire.Held(record=self._holders.look(told.look_at, self._steps, self._counting(step))))

    def _run_until(self, until: int, recorder: Recorder, step: Callable[[int], object]) -> None:
        counted, warmup = self._counting(step), self._job.warmup
        if self._memory is not None and not self._memory.has_begun and warmup <= until:
            recorder.run(counted, first=self._steps, until=warmup)
            self._memory.begin(warmup - 1)
        recorder.run(counted, first=self._steps, until=until)

    def _follow_natively(self, step: Callable[[int], object]) -> None:
        """The warm-up first, so that what it leaves alive is no part of what memray sees."""
        from harness.capture.native_stacks import NativeStacks

        assert self._job.native_folder is not None
        stacks, counted, warmup = NativeStacks(self._job.native_folder), self._counting(step), self._job.warmup
        for i in range(warmup):
            counted(i)
        gc.collect()
        absence = stacks.start()
        if absence is not None:
            self._send(wire.Native(record=NativeRecord(absence=absence)))
            return
        try:
            while stacks.may_go_on(self._steps - warmup):
                counted(self._steps)
            gc.collect()
        finally:
            stacks.stop()
        self._send(wire.Native(record=stacks.read(self._steps - warmup)))

    def _follow_gradients(self, step: Callable[[int], object]) -> None:
        from harness.capture.gradient_facts import GradientFacts

        self._gradients = GradientFacts(lambda i, ns: self._send(wire.Sample(step=i, step_ns=ns, values={})))
        expected = self._scenario.facts.expected if self._scenario is not None else None
        self._gradients.follow(
            self._counting(step),
            steps=self._job.first_stop,
            longest_s=self._job.longest_s,
            wanted=expected.fault if expected is not None else None,
        )

    def _counting(self, step: Callable[[int], object]) -> Callable[[int], object]:
        def counted(i: int) -> None:
            if self._job.role == "repeated":
                _seed_all(self._job.seed)
                result = step(0)
            else:
                result = step(i)
            if i == 0:
                check_that_it_ran(result, self._job.variant, self._job.path)
            if self._cutter is not None:
                self._cut_after(i)
            self._steps = i + 1

        return counted

    def _cut_after(self, step: int) -> None:
        if step + 1 == self._job.warmup:
            self._cutter.note()
        elif step + 1 > self._job.warmup:
            self._cutter.cut()

    def _guarded(self, work: Callable[[], object]) -> Ending | None:
        """Run the scenario's code; how it ended if it ended badly, else None."""
        try:
            try:
                self._held = False
                signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
                work()
            finally:
                self._hold_signals()
        except wire.LostError:
            raise
        except BaseException as error:
            self._hold_signals()  # again: a handler may have raised before it was done
            if _getpid() != self._pid:
                traceback.print_exc()
                _exit(1)
            try:
                return self._ending_of(error)
            except BaseException:  # its class turns every question into another exception
                return Ending(status="raised", detail=f"{type(error).__name__}, which cannot be asked what it says")
        return None

    def _hold_signals(self) -> None:
        """Let none come until the scenario's code runs again: a handler of its that raises would do so in ours."""
        with contextlib.suppress(BaseException):  # one that came just before
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
            if not self._held:
                self._mask, self._held = mask, True

    def _ending_of(self, error: BaseException) -> Ending:
        if isinstance(error, ScenarioError) or (isinstance(error, ModuleNotFoundError) and self._steps == 0):
            self._started = False
        ending = ending_of(error)
        fault = fault_of(error, self._steps) if ending.status == "raised" and self._started else None
        if fault is not None:
            self._faults.append(fault)
        return ending


def _prepare(job: wire.Job) -> None:
    """Seeds, limits and handlers: the same for every subject, before any of the scenario's code runs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR2, all_threads=True)  # the parent asks for it where a step hangs
    _seed_all(job.seed)
    if job.memory_limit_bytes is not None:
        own = psutil.Process().memory_info().data
        limit = own + job.memory_limit_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _seed_all(seed: int) -> None:
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    import torch

    torch.manual_seed(seed)


if __name__ == "__main__":
    main()
