"""After how many steps a small leak is seen: ``python -m tests.benchmarks.sensitivity [SEEDS]`` (default 5 seeds).

Two programs, each run in fresh subjects with ever more steps (warm-up among them) until the report names the leak:

- 1 KiB a step of tensors: a finding says the line that allocates, whatever the outcome; wanted within 30 steps. In how
  many of them a holder was named too stands beside it.
- 4 KiB a step of native heap while 4 MiB of blocks of random sizes come and go within each step: the outcome is
  ``leak``; wanted within 200 steps.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from harness.capture.discover import discover
from harness.cli.progress import SilentProgress
from harness.judge.policy import DEFAULT
from harness.model.report import RunReport
from harness.pipeline import RunOptions, run_scenarios

__all__ = ["LEAKS", "SmallLeak", "holder_named", "line_named", "main", "steps_until"]

_TENSORS = """
import torch

torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
kept = []


def step(i):
    with torch.no_grad():
        model(torch.randn(64, 64)).sum()
    kept.append(torch.zeros(256))
"""

_NATIVE = """
import ctypes
import random

import torch

torch.set_num_threads(1)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def taken(size):
    block = libc.malloc(size)
    ctypes.memset(block, 1, size)
    return block


def step(i):
    blocks, left = [], 4 << 20
    while left > 0:
        size = min(left, random.randrange(1 << 10, 1 << 18))
        blocks.append(taken(size))
        left -= size
    torch.randn(64, 64).sum()
    taken(4096)
    random.shuffle(blocks)
    for block in blocks:
        libc.free(block)
"""


class SmallLeak(msgspec.Struct, frozen=True, kw_only=True):
    """A program, when its leak counts as seen, after how many steps it should be, and at which numbers we look."""

    title: str
    source: str
    seen: Callable[[RunReport], bool]
    within: int
    looks: tuple[int, ...]


def line_named(run: RunReport) -> bool:
    """Some finding's frames have the line that allocates."""
    return any("torch.zeros(256)" in (f.source or "") for finding in run.findings for f in finding.allocated_at)


def holder_named(run: RunReport) -> bool:
    """Some finding's path has the list's name."""
    return any(finding.held_by is not None and "kept" in finding.held_by.text for finding in run.findings)


def _called_leak(run: RunReport) -> bool:
    return run.outcome == "leak"


LEAKS = (
    SmallLeak(
        title="1 KiB a step of tensors is named",
        source=_TENSORS,
        seen=line_named,
        within=30,
        looks=(14, 18, 22, 26, 30, 34, 38, 40, 44, 48, 56, 80),
    ),
    SmallLeak(
        title="4 KiB a step of native heap under 4 MiB of churn is called leak",
        source=_NATIVE,
        seen=_called_leak,
        within=200,
        looks=(40, 48, 60, 80, 100, 130, 160, 200, 300, 408),
    ),
)


def steps_until(leak: SmallLeak, run_for: Callable[[int], RunReport]) -> tuple[int | None, RunReport | None]:
    """The first number of steps after which *leak* is seen, and that run; None where it is not after the last look."""
    for steps in leak.looks:
        run = run_for(steps)
        if leak.seen(run):
            return steps, run
    return None, None


def _run(source: str, steps: int, seed: int) -> RunReport:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small_leak.py"
        path.write_text(source)
        found, _ = discover([str(path)])
        options = RunOptions(steps=steps - DEFAULT.warmup_steps, seed=seed)
        report = run_scenarios(found, options=options, progress=SilentProgress())
    return report.runs[0]


def main(arguments: Sequence[str]) -> int:
    """Print a line a program, and say by the exit code whether each seed kept its bound."""
    seeds = range(int(arguments[0]) if arguments else 5)
    late = False
    for leak in LEAKS:
        found = [steps_until(leak, lambda n, leak=leak, seed=seed: _run(leak.source, n, seed)) for seed in seeds]  # type: ignore[misc]
        steps = [n for n, _ in found]
        held = sum(run is not None and holder_named(run) for _, run in found)
        shown = ", ".join("never" if n is None else str(n) for n in steps)
        kept = all(n is not None and n <= leak.within for n in steps)
        late = late or not kept
        print(f"{leak.title}: after {shown} steps ({'within' if kept else 'NOT within'} {leak.within})", flush=True)
        if leak.seen is line_named:
            print(f"  with its holder: {held} of {len(found)}")
    return int(late)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
