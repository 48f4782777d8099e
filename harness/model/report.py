"""The one document in the middle: everything that a reader, a gate or another tool may want to know.

The field names are the JSON's, version 1: they stay; more may be added. See ``report.schema.json`` beside this file.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from harness.model.allocation import Frame
from harness.model.environment import Environment, Tool
from harness.model.expectation import Expectation
from harness.model.gradients import GradientTable
from harness.model.peak import PeakPart, TensorRole
from harness.model.recording import Ending, Variant
from harness.model.series import Growth
from harness.model.verdict import LookAlike, Outcome

__all__ = [
    "SCHEMA_VERSION",
    "Comparison",
    "Conservation",
    "Curve",
    "Finding",
    "HeldBy",
    "Problem",
    "Report",
    "RunReport",
    "SubjectId",
    "Throughput",
]

SCHEMA_VERSION: Literal[1] = 1


class SubjectId(msgspec.Struct, frozen=True, kw_only=True):
    """Which process of a job: rank and worker are None outside distributed jobs and loaders."""

    rank: int | None = None
    worker: int | None = None
    pid: int


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """Median speed after warm-up, without the time of our own readings.

    ``low`` and ``high`` are the speeds between which the middle half of the steps lay, as ratios to the median (0.9 to
    1.1). ``bytes_per_item`` is how many bytes of tensors one more item in a step takes at its peak, beside what was
    alive before; ``allocations_per_item`` how many storages. None where the scenario has no ``ITEMS_PER_STEP``, or no
    tensor was followed.
    """

    steps_per_s: float
    items_per_s: float | None = None
    low: float = 1.0
    high: float = 1.0
    bytes_per_item: float | None = None
    allocations_per_item: float | None = None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """``fixed_step`` against ``step``: throughput fixed/step, peak and allocations step/fixed: above 1, the fix
    pays. ``throughput_low`` and ``throughput_high`` are the ratio with each half's speed at the far end of
    its own spread."""

    throughput_ratio: float | None = None
    throughput_low: float | None = None
    throughput_high: float | None = None
    peak_ratio: float | None = None
    allocation_ratio: float | None = None


class HeldBy(msgspec.Struct, frozen=True, kw_only=True):
    """The reference path from a root to the survivor; ``suspect`` names the link at which growth enters."""

    text: str
    root: str
    links: tuple[str, ...] = ()
    suspect: str | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong: a leak's cause or a fault's kind, where, how much, and what to change.

    ``bytes_per_step`` are live native bytes (heap in use, Python objects, shared memory, device);
    ``tensor_bytes_per_step`` is the part of it that the ledger counted exactly. ``allocated_at`` is where its memory
    comes from, ``retained_at`` where the container that keeps it gains elements (or the name that keeps it is bound);
    both innermost user frame first, and empty where that is not known. For a fault ``parameters`` are the names of
    those that it is about, ``reason`` which of its kind's reasons it is, in one word.
    """

    cause: str | None
    fault: str | None
    explanation: str
    fix: str
    device: str | None = None
    confidence: Literal["exact", "statistical"]
    known: dict[str, Any] | None = None
    confirmed_by_cutting: bool | None = None
    bytes_per_step: float
    tensor_bytes_per_step: float
    objects_per_step: float
    retained_bytes: int
    allocated_at: tuple[Frame, ...] = ()
    retained_at: tuple[Frame, ...] = ()
    native_stack: tuple[str, ...] = ()
    held_by: HeldBy | None = None
    parameters: tuple[str, ...] = ()
    reason: str | None = None
    fingerprint: str


class Conservation(msgspec.Struct, frozen=True, kw_only=True):
    """Where the growth of resident memory went, part by part (bytes, signed)."""

    rss_growth_bytes: int
    parts: dict[str, int]
    unexplained_bytes: int
    children_bytes: int
    devices: dict[str, dict[str, int]] = {}


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A series thinned for drawing: at most some dozens of points, the metric's unit."""

    metric: str
    steps: tuple[int, ...]
    values: tuple[float, ...]


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One variant of one scenario, judged. ``steps`` counts all that ran, warm-up among them.

    ``elapsed_s`` is how long all its processes took; where that was not noted, their steps alone.

    ``started`` is False where the scenario never came to its first step because the file cannot be run.

    ``peak_by_role`` says what was alive on the CPU at the peak of step ``peak_step``, and adds up to that step's exact
    peak; ``peak_parts`` are the largest parts of it, by role and site. Empty and None where it is not known.

    ``gradients`` is how each parameter's gradient went, where backward ran.
    """

    scenario: str
    path: str
    variant: Variant
    subject: SubjectId
    title: str = ""
    tags: tuple[str, ...] = ()
    outcome: Outcome
    reasons: tuple[str, ...]
    expected: Expectation
    as_expected: bool
    started: bool = True
    steps: int
    warmup_steps: int
    elapsed_s: float
    throughput: Throughput | None
    peak_bytes: dict[str, int]
    peak_step: int | None = None
    peak_by_role: dict[TensorRole, int] = {}
    peak_parts: tuple[PeakPart, ...] = ()
    allocations_per_step: float | None
    comparison: Comparison | None = None
    gradients: GradientTable | None = None
    growth: dict[str, Growth]
    findings: tuple[Finding, ...]
    look_alikes: tuple[LookAlike, ...]
    notes: tuple[str, ...]
    conservation: Conservation | None = None
    curves: tuple[Curve, ...] = ()
    stdout: str = ""
    stderr: str = ""
    ending: Ending


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was asked for and could not be found or read: what, and what to try."""

    target: str
    message: str
    help: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one ``harness run`` says. ``problems`` are requests that led to no run at all, ``errors`` are failures of
    the tool itself: of what they name there is no run. ``elapsed_s``: from the first start to the last verdict."""

    schema_version: Literal[1] = SCHEMA_VERSION
    tool: Tool
    environment: Environment
    runs: tuple[RunReport, ...]
    problems: tuple[Problem, ...] = ()
    errors: tuple[Problem, ...] = ()
    interrupted: bool = False
    elapsed_s: float | None = None
