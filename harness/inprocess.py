"""Measuring in the program's own process: for notebooks, scripts and tests that cannot be a file of their own.

Without a process of its own nothing is isolated. Heap, Python objects and resident memory would show our own books
along with the program's, so they are left out: the verdict rests on what is counted exactly (tensor storages, graph
nodes, descriptors, threads, children). Compiled code runs uncompiled, and other threads are unseen.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import msgspec

from harness._version import __version__
from harness.capture.device_observer import DeviceObserver
from harness.capture.gathering import Gathering
from harness.capture.graph_census import take_census
from harness.capture.holder_watch import HolderWatch
from harness.capture.module import accepting_a_number
from harness.capture.raised import ending_of
from harness.capture.recorder import Recorder, working_instruments
from harness.capture.surroundings import surroundings
from harness.capture.wire import Facts, Held
from harness.errors import UsageError
from harness.gradients.not_zeroed import GradientObserver
from harness.instruments.accelerator import Accelerator
from harness.instruments.children import Children
from harness.instruments.resources import Resources
from harness.judge.curiosity import holders_wanted
from harness.judge.policy import DEFAULT
from harness.judge.sequential import go_on
from harness.ledger.dispatch import DispatchLedger
from harness.model.environment import Tool
from harness.model.recording import Ending, Recording, ScenarioFacts, SubjectRecord, Variant
from harness.model.report import Report, RunReport
from harness.pipeline import compared, judge_recording

__all__ = ["Detection", "detect", "run"]

_COUNTERS = (Resources, Children, Accelerator)


class Detection:
    """Measures between ``with`` and its end; :meth:`step` marks the end of each repetition.

        with harness.detect() as detection:
            for batch in loader:
                train(batch)
                detection.step()
        print(detection.run.outcome)

    ``run`` (a :class:`~harness.model.report.RunReport`) is there after the ``with``; asking earlier is a
    :class:`UsageError`. An exception in the block comes through, and is the run's ending.
    """

    def __init__(self, *, name: str = "detect", variant: Variant = "step", warmup: int | None = None) -> None:
        self._facts = ScenarioFacts(name=name, path=f"<{name}>", variant=variant)
        self._gathering = Gathering(role="ledger", warmup=DEFAULT.warmup_steps if warmup is None else warmup)
        self._run: RunReport | None = None
        self._steps = 0

    def __enter__(self) -> Self:
        self._devices, self._gradients = DeviceObserver(), GradientObserver()
        self._frozen_by_us = gc.get_freeze_count() == 0
        if self._frozen_by_us:  # else each boundary's collection walks all of torch: 100 ms instead of 0.1
            gc.collect()
            gc.freeze()
        self._gradients.start()
        self._ledger = DispatchLedger(observer=self._devices).start()
        instruments, absent = working_instruments(_COUNTERS)
        self._gathering.take(
            Facts(
                scenario=self._facts,
                environment=surroundings(seed=0),
                absent=absent,
                ledger_source=self._ledger.source,
                ledger_blind_to=self._ledger.blind_to,
            )
        )
        self._recorder = Recorder(
            instruments=instruments,
            sink=self._gathering.take,
            collect=True,
            ledger=self._ledger,
            census=self._census,
            watchers=(self._devices, self._gradients),
        )
        self._recorder.begin()
        self._began = time.perf_counter_ns()
        return self

    def step(self) -> None:
        """End one repetition: settle and read. Costs about a millisecond, which is left out of the step's time."""
        self._recorder.end_step(self._steps, time.perf_counter_ns() - self._began)
        self._steps += 1
        self._began = time.perf_counter_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.checkpoint()
        self._look_who_holds()
        self._ledger.stop()
        self._gradients.stop()
        if self._frozen_by_us:
            gc.unfreeze()
        ending = Ending(status="ok") if error is None else ending_of(error)
        self._run = judge_recording(self._recording(self.record(ending)))

    def _look_who_holds(self) -> None:
        """Where survivors grow: one walk over the process's objects, some tenths of a second in a large one."""
        wanted = holders_wanted([self.record()])
        if wanted:
            watch = HolderWatch(self._ledger, collect=True, unfreeze=self._frozen_by_us)
            self._gathering.take(Held(record=watch.look(wanted, self._steps, None)))

    @property
    def run(self) -> RunReport:
        """The judged run."""
        if self._run is None:
            raise UsageError(
                "the verdict is there only after the with block has ended", help="Ask for it below the block."
            )
        return self._run

    def record(self, ending: Ending | None = None) -> SubjectRecord:
        """What was measured so far."""
        faults = (*self._devices.faults(), *self._gradients.faults())
        return msgspec.structs.replace(self._gathering.record(ending), faults=faults, started=True)

    def _recording(self, record: SubjectRecord) -> Recording:
        return Recording(
            tool=Tool(name="torch-leak-harness", version=__version__),
            environment=surroundings(seed=0),
            scenario=self._facts,
            subjects=(record,),
        )

    def _census(self) -> tuple[int, dict[int, int]]:
        if self._frozen_by_us:  # the census must find holders that were there before us
            gc.unfreeze()
        taken = take_census(self._ledger.storage_keys())
        if self._frozen_by_us:
            gc.freeze()
        return taken.nodes, taken.in_graph


def detect(*, name: str = "detect", warmup: int | None = None) -> Detection:
    """Measure a block of this program: ``with harness.detect() as detection: ... detection.step()``.

    *warmup* steps count for nothing (None: the policy's 8).
    """
    return Detection(name=name, warmup=warmup)


def run(
    step: Callable[..., object],
    *,
    fixed_step: Callable[..., object] | None = None,
    setup: Callable[[], object] | None = None,
    teardown: Callable[[], object] | None = None,
    steps: int | None = None,
    warmup: int | None = None,
) -> Report:
    """Run *step* again and again in this process and report; with *fixed_step*, both halves, compared.

    *steps* measured steps (None: as many as the verdict needs). A step that raises ends its half: the report says so.
    For isolation, and for exact speed, put the functions into a file and use ``harness run FILE``.
    """
    if steps is not None and steps < 1:
        raise UsageError(f"steps={steps}: nothing would be measured", help="Leave it out, or ask for 32 or more.")
    halves: tuple[tuple[Variant, Any], ...] = (("step", step), ("fixed_step", fixed_step))
    runs = [_half(variant, body, setup, teardown, steps, warmup) for variant, body in halves if body is not None]
    return Report(
        tool=Tool(name="torch-leak-harness", version=__version__),
        environment=surroundings(seed=0),
        runs=compared(*runs) if len(runs) == 2 else tuple(runs),
    )


def _half(
    variant: Variant,
    body: Callable[..., object],
    setup: Callable[[], object] | None,
    teardown: Callable[[], object] | None,
    steps: int | None,
    warmup: int | None,
) -> RunReport:
    name = getattr(body, "__name__", "step")
    call = accepting_a_number(body, name, f"harness.run({name})")
    detection = Detection(name=name, variant=variant, warmup=warmup)
    try:
        if setup is not None:
            setup()
        with detection:
            _repeat(call, detection, steps)
    except Exception:
        if detection._run is None:
            raise  # set-up failed: there is nothing to report
    finally:
        if teardown is not None:
            teardown()
    return detection.run


def _repeat(call: Callable[[int], object], detection: Detection, steps: int | None) -> None:
    warmup = detection.record().warmup_steps
    began, done = time.monotonic(), 0
    while True:
        call(done)
        detection.step()
        done += 1
        measured = done - warmup
        if steps is not None:
            if measured >= steps:
                return
        elif measured in DEFAULT.checkpoints:
            if measured == DEFAULT.checkpoints[-1] or go_on(detection.record(), DEFAULT) is None:
                return
        elif measured >= DEFAULT.least_steps and time.monotonic() - began > DEFAULT.time_budget_s:
            return
