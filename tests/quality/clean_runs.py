"""How often a program that does not leak is called a leak: ``python -m tests.quality.clean_runs [N] [FOLDER ...]``.

N runs (default 1000) of real programs, each program with ever new seeds: the ordinary loops, the fixed halves of the
bundled scenarios, the look-alikes and fixed halves of the labelled cases here and in every FOLDER. Two at a time, so
that the machine is as busy as a developer's. ``--results FILE`` keeps a line a run, and what stands there is not run
again; an interruption prints what is known so far. Exit code 1 where more than 1 in 1000 was called leak.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil

from harness.capture.scenario_file import ScenarioFile
from harness.cli.progress import SilentProgress
from harness.model.recording import Variant
from harness.model.report import RunReport
from harness.pipeline import RunOptions, run_scenarios
from tests.quality.clean_programs import CASES, ORDINARY, SCENARIOS, clean_programs

__all__ = ["MOST_CALLED_LEAK", "CleanRun", "called_leak", "in_workers", "main", "run_clean", "summary", "tasks"]

T = TypeVar("T")
R = TypeVar("R")

MOST_CALLED_LEAK = 1 / 1000
_AT_ONCE = 2
_TOGETHER = 8
"""Programs that share a fork server, and so a seed: starting one costs as much as a run."""


class CleanRun(msgspec.Struct, frozen=True, kw_only=True):
    """How one run of a clean program came out, and what was said of it where it was not called stable."""

    scenario: str
    variant: Variant
    seed: int
    outcome: str
    steps: int
    elapsed_s: float
    reasons: tuple[str, ...] = ()


Task = tuple[int, tuple[ScenarioFile, ...]]


def tasks(programs: Sequence[ScenarioFile], runs: int, *, done: Iterable[CleanRun] = ()) -> Iterator[Task]:
    """(seed, programs) until *runs* runs are asked for or *done*: all programs with one seed, then with the next."""
    known = {(run.scenario, run.variant, run.seed) for run in done}
    for start in range(0, runs, len(programs)):
        seed = 1 + start // len(programs)
        wanted = [
            program for program in programs[: runs - start] if (program.name, program.variants[0], seed) not in known
        ]
        for first in range(0, len(wanted), _TOGETHER):
            yield seed, tuple(wanted[first : first + _TOGETHER])


def run_clean(task: Task) -> list[CleanRun]:
    """Run the task's programs, each to a verdict."""
    seed, programs = task
    report = run_scenarios(programs, options=RunOptions(seed=seed), progress=SilentProgress())
    failed = [CleanRun(scenario=error.target, variant="step", seed=seed, outcome="error", steps=0, elapsed_s=0.0,
                       reasons=(error.message,)) for error in report.errors]  # fmt: skip
    return failed + [
        CleanRun(
            scenario=run.scenario,
            variant=run.variant,
            seed=seed,
            outcome=run.outcome,
            steps=run.steps,
            elapsed_s=run.elapsed_s,
            reasons=() if run.outcome == "stable" else (*run.reasons, *run.notes, *_found(run)),
        )
        for run in report.runs
    ]


def _found(run: RunReport) -> Iterator[str]:
    for finding in run.findings:
        where = finding.allocated_at[0].source if finding.allocated_at else None
        yield f"{finding.cause or finding.fault}: {finding.bytes_per_step:.0f} bytes a step, {where or 'no line'}"


def called_leak(runs: Iterable[CleanRun]) -> list[CleanRun]:
    """Those that are false alarms."""
    return [run for run in runs if run.outcome == "leak"]


def summary(runs: Sequence[CleanRun]) -> str:
    """False alarms with their reasons, then every other outcome that is not ``stable``, then the share."""
    lines: list[str] = []
    for run in sorted(runs, key=lambda r: (r.outcome != "leak", r.outcome, r.scenario, r.variant, r.seed)):
        if run.outcome != "stable":
            lines.append(f"{run.outcome:12} {run.scenario}::{run.variant} seed {run.seed}, {run.steps} steps")
            lines += [f"             {reason}" for reason in run.reasons[:8]]
    outcomes = ", ".join(f"{n} {name}" for name, n in collections.Counter(r.outcome for r in runs).most_common())
    wrong = len(called_leak(runs))
    lines.append(f"{len(runs)} runs of {len({(r.scenario, r.variant) for r in runs})} clean programs: {outcomes}")
    lines.append(f"called leak: {wrong} of {len(runs)} ({wrong / max(1, len(runs)):.2%}; at most 1 in 1000)")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Run, print, and say by the exit code whether the bound holds."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.clean_runs", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=1000)
    parser.add_argument("folders", nargs="*", help="more folders of labelled cases")
    parser.add_argument("--results", type=Path, help="keep results here, a line a run, and go on from them")
    asked = parser.parse_args(arguments)
    programs = clean_programs(
        [str(ORDINARY), str(SCENARIOS), *([str(CASES)] if CASES.is_dir() else []), *asked.folders]
    )
    done = _read(asked.results)
    print(f"{len(programs)} clean programs, {len(done)} runs done before", flush=True)
    began = time.monotonic()
    before = len(done)
    try:
        for run in _all(tasks(programs, asked.runs, done=done)):
            done.append(run)
            if asked.results is not None:
                with asked.results.open("ab") as out:
                    out.write(msgspec.json.encode(run) + b"\n")
            if run.outcome != "stable":
                print(f"{run.outcome:12} {run.scenario}::{run.variant} seed {run.seed}", flush=True)
    except KeyboardInterrupt:
        print("interrupted: what was done so far")
    print(summary(done))
    took = time.monotonic() - began
    print(f"{len(done) - before} runs in {took:.0f} s, {took / max(1, len(done) - before):.2f} s a run")
    return int(len(called_leak(done)) > max(1, len(done)) * MOST_CALLED_LEAK)


def _read(results: Path | None) -> list[CleanRun]:
    if results is None or not results.exists():
        return []
    return [msgspec.json.decode(line, type=CleanRun) for line in results.read_bytes().splitlines()]


def _all(work: Iterator[Task]) -> Iterator[CleanRun]:
    """Results as they come, two tasks at a time. An interruption ends the workers in the midst of theirs, and their
    measured processes with them."""
    yield from in_workers(run_clean, work)


def in_workers(run: Callable[[T], list[R]], work: Iterator[T]) -> Iterator[R]:
    """What *run* gives for each of *work*, in worker processes that leave an interruption to this one."""
    pool = ProcessPoolExecutor(
        _AT_ONCE, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interruptions_to_the_parent
    )
    running: set[Future[list[R]]] = set()
    try:
        for task in work:
            running.add(pool.submit(run, task))
            if len(running) > _AT_ONCE:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for one in finished:
                    yield from one.result()
        for one in running:
            yield from one.result()
    except BaseException:
        for worker in psutil.Process().children():
            worker.terminate()  # each has a server of its own, which ends what it measures when it is alone
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interruptions_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
