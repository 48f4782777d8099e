"""The one place that knows the order: discover, record, judge, diagnose, compare, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from harness.capture.scenario_file import ScenarioFile
from harness.model.recording import Recording, Variant
from harness.model.report import Problem, Report, RunReport

__all__ = ["Progress", "RunOptions", "run_scenarios"]


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run. ``steps`` measured steps (None: as many as the verdict needs), ``warmup`` steps before them
    (None: found from the data), ``timeout_s`` for each subject, ``memory_limit_bytes`` a subject may add to what
    torch itself takes (None: most of what the machine has free)."""

    steps: int | None = None
    warmup: int | None = None
    variant: Literal["step", "fixed_step", "both"] = "both"
    timeout_s: float = 300.0
    memory_limit_bytes: int | None = None
    start: Literal["fork", "spawn"] = "fork"
    seed: int = 0
    faults: bool = False


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

    *save* is handed each recording as soon as it is complete.
    """
    raise RuntimeError("under construction")
