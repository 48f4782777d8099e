"""The one place that knows the order: discover, record, judge, diagnose, compare, report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec
import psutil

from harness._version import __version__
from harness.assemble import assemble
from harness.capture.client import ForkServer
from harness.capture.scenario_file import ScenarioFile
from harness.capture.surroundings import surroundings
from harness.capture.variant import Plan, record_variant
from harness.diagnose import account_for, diagnose
from harness.errors import CaptureError
from harness.expectations import as_expected, compare
from harness.experiments import Experiments
from harness.judge.confirmation import confirmed_by_cutting
from harness.judge.curiosity import holders_wanted
from harness.judge.detector import judge
from harness.judge.policy import DEFAULT, Policy
from harness.judge.sequential import go_on
from harness.lanes import in_lanes
from harness.model.environment import Environment, Tool
from harness.model.recording import Recording, SubjectRecord, Variant
from harness.model.report import Problem, Report, RunReport

__all__ = ["Progress", "RunOptions", "compared", "judge_recording", "run_scenarios"]


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run. ``steps`` measured steps (None: as many as the verdict needs), ``warmup`` steps before them
    (None: found from the data), ``timeout_s`` for each subject, ``memory_limit_bytes`` a subject may add to what
    torch itself takes (None: most of what the machine has free). ``native``: take native stacks where growth is neither
    tensors nor Python objects (None), of every leak (True), or never (False). ``confirm``: cut the suspect edge in one
    more process and see whether growth stops, always, never, or where it takes little (None). ``jobs``: how many
    scenarios run at once; those that compare speeds run alone all the same."""

    steps: int | None = None
    warmup: int | None = None
    variant: Literal["step", "fixed_step", "both"] = "both"
    timeout_s: float = 300.0
    memory_limit_bytes: int | None = None
    start: Literal["fork", "spawn"] = "fork"
    seed: int = 0
    faults: bool = False
    native: bool | None = None
    confirm: bool | None = None
    jobs: int = 1


class Progress(Protocol):
    """What a run tells while it goes on; every call is cheap and none may raise."""

    def begin(self, total: int) -> None:
        """*total* variants are about to run."""

    def started(self, scenario: str, variant: Variant) -> None:
        """This variant's first subject is starting."""

    def stepped(self, steps: int, doing: str) -> None:
        """*steps* steps of the present subject are done; *doing* is a few words ("measuring", "following tensors")."""

    def finished(self, run: RunReport) -> None:
        """A variant is judged."""

    def end(self) -> None:
        """Nothing more will come, also after an interruption."""


def run_scenarios(
    scenarios: Sequence[ScenarioFile],
    *,
    options: RunOptions,
    progress: Progress,
    problems: Sequence[Problem] = (),
    save: Callable[[Recording], None] | None = None,
) -> Report:
    """Run every variant of *scenarios* in fresh processes and report; an interruption gives what is done so far.

    *save* is handed each recording as soon as it is complete. Where measuring itself fails, the report's ``errors``
    say so, and what was measured before stays. Calls of *progress* and *save* come from several threads where
    ``options.jobs`` says so, and never two at once.
    """
    began = time.monotonic()
    run = _Run(options, progress, save)
    progress.begin(sum(len(scenario.variants) for scenario in scenarios))
    try:
        run.all(scenarios)
    finally:
        progress.end()
    return Report(
        tool=Tool(name="torch-leak-harness", version=__version__),
        environment=run.environment or surroundings(options.seed),
        runs=tuple(half for scenario in scenarios for half in run.halves.get(id(scenario), ())),
        problems=tuple(problems),
        errors=tuple(run.errors),
        interrupted=run.was_interrupted,
        elapsed_s=time.monotonic() - began,
    )


class _Run:
    """What one call of :func:`run_scenarios` has measured so far."""

    def __init__(self, options: RunOptions, progress: Progress, save: Callable[[Recording], None] | None) -> None:
        self.halves: dict[int, list[RunReport]] = {}
        self.errors: list[Problem] = []
        self.environment: Environment | None = None
        self.was_interrupted = False
        self._options, self._save = options, save
        self._lock = threading.RLock()
        self._progress = _Turns(progress, self._lock)

    def all(self, scenarios: Sequence[ScenarioFile]) -> None:
        """Those that compare speeds run one after the other, when nothing else runs."""
        alone = [scenario for scenario in scenarios if _needs_quiet(scenario)]
        others = [scenario for scenario in scenarios if not _needs_quiet(scenario)]
        try:
            for some, lanes in ((others, self._options.jobs), (alone, 1)):
                in_lanes(some, self._both_halves, lanes=lanes, server=self._server)
        except KeyboardInterrupt:
            self.was_interrupted = True
        except _StoppedError:
            pass  # what the report's errors say

    def _server(self, interrupt_fd: int | None) -> ForkServer:
        options = self._options
        return ForkServer(seed=options.seed, preload=options.start == "fork", interrupt_fd=interrupt_fd)

    def _both_halves(self, server: ForkServer, scenario: ScenarioFile) -> None:
        halves = self.halves.setdefault(id(scenario), [])
        for variant in scenario.variants:
            self._progress.started(scenario.name, variant)
            try:
                recording = _recorded(server, scenario, variant, self._options, self._progress)
            except CaptureError as error:
                target = f"{scenario.shown_path}::{variant}"
                self.errors.append(Problem(target=target, message=str(error), help=error.help))
                if error.only_this_subject:
                    continue
                raise _StoppedError from error
            with self._lock:
                if self._save is not None:
                    self._save(recording)
                self.environment = self.environment or recording.environment
            halves.append(judge_recording(recording, faults=self._options.faults, path=scenario.shown_path))
            self._progress.finished(halves[-1])
            if any(subject.ending.status == "interrupted" for subject in recording.subjects):
                raise KeyboardInterrupt
        if len(halves) == 2:
            halves[:] = compared(*halves)


class _Turns:
    """Hands on what lanes tell, one at a time; of their steps only those of the half that was begun last."""

    def __init__(self, progress: Progress, lock: threading.RLock) -> None:
        self._progress, self._lock = progress, lock
        self._shown: int | None = None

    def started(self, scenario: str, variant: Variant) -> None:
        with self._lock:
            self._shown = threading.get_ident()
            self._progress.started(scenario, variant)

    def stepped(self, steps: int, doing: str) -> None:
        if self._shown == threading.get_ident():
            with self._lock:
                self._progress.stepped(steps, doing)

    def finished(self, run: RunReport) -> None:
        with self._lock:
            self._progress.finished(run)


def _needs_quiet(scenario: ScenarioFile) -> bool:
    return scenario.expected.kind == "slower" or "throughput" in scenario.tags


def _recorded(
    server: ForkServer, scenario: ScenarioFile, variant: Variant, options: RunOptions, progress: _Turns
) -> Recording:
    """The subjects that every variant has, then those that a first verdict asks for."""
    began = time.monotonic()
    plan = _plan(options)
    recording = record_variant(
        server,
        scenario,
        variant,
        plan=plan,
        next_stop=_StopRule(DEFAULT, timeout_s=options.timeout_s),
        holders_wanted=holders_wanted,
        on_progress=progress.stepped,
    )
    experiments = Experiments(
        server,
        scenario,
        variant,
        plan=plan,
        native=options.native,
        confirm=options.confirm,
        faults=options.faults,
        on_progress=progress.stepped,
    )
    recording = experiments.asked_by(recording)
    return msgspec.structs.replace(recording, took_s=time.monotonic() - began)


def judge_recording(
    recording: Recording, *, faults: bool = False, path: str | None = None, policy: Policy = DEFAULT
) -> RunReport:
    """Judge and diagnose one recording, fresh or saved. *path* is how its file is named to people."""
    verdict = judge(recording, policy, faults=faults)
    findings = tuple(
        msgspec.structs.replace(
            finding,
            confirmed_by_cutting=confirmed_by_cutting(
                recording,
                finding.fingerprint,
                bytes_per_step=finding.tensor_bytes_per_step or finding.bytes_per_step,
                tensors=finding.tensor_bytes_per_step > 0,
            ),
        )
        for finding in diagnose(recording, verdict)
    )
    return assemble(
        recording,
        verdict,
        findings,
        path=path or recording.scenario.path,
        conservation=account_for(recording),
    )


def _plan(options: RunOptions) -> Plan:
    limit = options.memory_limit_bytes
    if limit is None:
        limit = psutil.virtual_memory().available * 8 // 10  # one that leaks must not take the machine with it
    return Plan(
        steps=options.steps,
        warmup=options.warmup if options.warmup is not None else DEFAULT.warmup_steps,
        timeout_s=options.timeout_s,
        memory_limit_bytes=limit,
        seed=options.seed,
        fresh_interpreter=options.start == "spawn",
    )


def compared(step: RunReport, fixed: RunReport) -> tuple[RunReport, RunReport]:
    """Both halves with their comparison, held against what was expected of it."""
    comparison = compare(step, fixed)
    both = (msgspec.structs.replace(run, comparison=comparison) for run in (step, fixed))
    one, other = (msgspec.structs.replace(run, as_expected=as_expected(run)) for run in both)
    return one, other


class _StoppedError(Exception):
    """Nothing more can be measured."""


class _StopRule:
    """When a subject has run enough: at the policy's checkpoints, where nothing is open any more, or when the time
    that the policy allows is spent and the least number of steps is done.

    How many steps there is time for is reckoned from the last stretch, and a stretch is at most as long as all before
    it: a program whose steps get slower (each backward walks the whole past) is asked again in time. Half of the
    timeout is never planned away, so that a program that could have been judged does not run into it.
    """

    def __init__(self, policy: Policy, *, timeout_s: float) -> None:
        self._policy = policy
        self._limit_s = timeout_s / 2
        self._pid = 0
        self._began = self._asked = 0.0
        self._steps = 0

    def __call__(self, subject: SubjectRecord) -> int:
        policy, now = self._policy, time.monotonic()
        if subject.pid != self._pid:
            self._pid, self._steps = subject.pid, 0
            self._began = self._asked = now - subject.elapsed_ns / 1e9
        per_step_s = (now - self._asked) / max(1, subject.steps - self._steps)
        self._asked, self._steps = now, subject.steps
        measured = subject.steps - subject.warmup_steps
        following = next((c for c in policy.checkpoints if c > measured), None)
        if following is None:
            return 0
        left_s = policy.time_budget_s - (now - self._began)
        if measured in policy.checkpoints or left_s < per_step_s:
            if go_on(subject, policy) is None:
                return 0
            left_s += policy.open_time_budget_s - policy.time_budget_s
        affordable = int(min(left_s, self._limit_s - (now - self._began)) / max(per_step_s, 1e-9))
        until = max(policy.least_steps, min(following, 2 * max(measured, policy.least_steps), measured + affordable))
        return subject.warmup_steps + until if until > measured else 0
