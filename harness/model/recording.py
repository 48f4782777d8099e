"""What capture saves and judgement reads: facts only, no opinion. It can be judged again at any time."""

from __future__ import annotations

from typing import Literal

import msgspec

from harness.model.allocation import SiteRecord
from harness.model.environment import Environment, Tool
from harness.model.expectation import Expectation
from harness.model.gradients import GradientTable
from harness.model.holding import CutOrder, HeldRecord
from harness.model.memory_map import MemoryMap
from harness.model.native import NativeRecord
from harness.model.peak import PeakComposition
from harness.model.series import Series

__all__ = [
    "RECORDING_VERSION",
    "Absence",
    "Ending",
    "EndingStatus",
    "FaultRecord",
    "LedgerRecord",
    "Recording",
    "Role",
    "ScenarioFacts",
    "SubjectRecord",
    "Variant",
]

RECORDING_VERSION = 1

Variant = Literal["step", "fixed_step"]
EndingStatus = Literal["ok", "raised", "exited", "crashed", "killed", "timed_out", "out_of_memory", "interrupted"]
Role = Literal["plain", "ledger", "uncollected", "gradients", "native", "cut", "malloc", "repeated", "reads"]
"""Why a subject was started: ``plain`` counts and times; ``ledger`` also follows every tensor storage (slower);
``uncollected`` leaves the garbage collector to itself, where the others collect at each boundary; ``gradients`` follows
what is made of what, call by call, to say what became of the gradients (slowest, and so for the fewest steps).

The others are experiments, asked for by a first verdict, and no other evidence than for that: ``native`` ran under
memray; ``cut`` cuts one edge after every step, to see whether growth stops; ``malloc`` ran under PYTHONMALLOC=malloc,
where the heap shows every Python object to the byte; ``repeated`` has the same index and seeds in every step, to
see whether growth needs new inputs; ``reads`` runs again what crashed, and looks before each operator whether the
memory that it is about to read is there."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a subject ended.

    ``code`` is the exit code, ``signal`` the signal's name, ``detail`` a sentence or a traceback."""

    status: EndingStatus
    code: int | None = None
    signal: str | None = None
    detail: str | None = None


class ScenarioFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a scenario file says of itself, as the subject found it after importing the file."""

    name: str
    path: str
    variant: Variant
    title: str = ""
    pitfall: str = ""
    fix: str = ""
    tags: tuple[str, ...] = ()
    expected: Expectation = Expectation(kind="stable")
    items_per_step: int | None = None


class Absence(msgspec.Struct, frozen=True, kw_only=True):
    """An instrument that cannot read here, and why."""

    instrument: str
    reason: str


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the tensor ledger saw. ``blind_to`` is a sentence; ``dropped`` counts storages it had to let go unlisted.

    ``peak`` is the composition of the highest peak among the steps that were watched for it (the last one before each
    checkpoint); None where none could be told."""

    source: str
    blind_to: str
    peak_bytes: dict[str, int]
    sites: tuple[SiteRecord, ...]
    dropped: int = 0
    peak: PeakComposition | None = None


class FaultRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that an observer saw: its kind (DESIGN's spelling), the sentence, the step, and whether torch raised.

    ``factor`` is how many times too large a gradient is (gradients_not_zeroed); ``count`` how often it was seen;
    ``parameters`` the names of those that it is about, and ``reason`` which of a kind's reasons it is, in one word.
    """

    fault: str
    explanation: str
    step: int
    raised: bool
    path: str | None = None
    line: int | None = None
    function: str | None = None
    source: str | None = None
    factor: int | None = None
    count: int = 1
    parameters: tuple[str, ...] = ()
    reason: str | None = None


class SubjectRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One measured process, from its first reading to its end.

    ``steps`` is how many steps ran to their end, the warm-up ones among them; ``step_ns`` how long each took
    (nanoseconds, our own readings left out). ``collector_enabled`` is the collector's state after the last step;
    ``frozen_growth`` how many objects the scenario moved to the permanent generation. ``held`` is who holds what was
    still alive after the last step, where that was asked; ``cut`` the edge that was cut after every step, and ``cuts``
    how often there was something to cut. ``ran_backward``: autograd's backward ran; ``gradients``: how those of each
    parameter went, and ``remarks`` what else was seen of them that is no fault.
    """

    role: Role
    pid: int
    warmup_steps: int
    steps: int
    elapsed_ns: int
    step_ns: Series
    series: tuple[Series, ...]
    ending: Ending
    started: bool = True
    ledger: LedgerRecord | None = None
    faults: tuple[FaultRecord, ...] = ()
    absent: tuple[Absence, ...] = ()
    collector_enabled: bool = True
    frozen_growth: int = 0
    trimmed_bytes: int | None = None
    held: HeldRecord | None = None
    cut: CutOrder | None = None
    cuts: int = 0
    native: NativeRecord | None = None
    memory_map: MemoryMap | None = None
    ran_backward: bool = False
    gradients: GradientTable | None = None
    remarks: tuple[str, ...] = ()
    stdout: str = ""
    stderr: str = ""

    def find(self, metric: str) -> Series | None:
        """This subject's series of *metric*, or None where it was not read."""
        return next((s for s in self.series if s.metric == metric), None)


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one variant of one scenario gave, over all the subjects that it was run in; ``took_s`` is how long all
    of that took, from the first process to the last."""

    recording_version: int = RECORDING_VERSION
    tool: Tool
    environment: Environment
    scenario: ScenarioFacts
    subjects: tuple[SubjectRecord, ...]
    took_s: float | None = None

    def subject(self, role: Role) -> SubjectRecord | None:
        """The subject with that role, or None where it was not run."""
        return next((s for s in self.subjects if s.role == role), None)
