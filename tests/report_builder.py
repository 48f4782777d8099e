"""Reports and recordings for tests: plain ones, changed where a test says so."""

from __future__ import annotations

from typing import Any

from harness.model.allocation import Frame
from harness.model.environment import Environment, Tool
from harness.model.expectation import Expectation
from harness.model.recording import Ending, Recording, ScenarioFacts, SubjectRecord
from harness.model.report import Curve, Finding, HeldBy, Report, RunReport, SubjectId, Throughput
from harness.model.series import Growth, Series

__all__ = ["a_finding", "a_leak", "a_recording", "a_report", "a_run"]


def a_report(*runs: RunReport, **changes: Any) -> Report:
    """A report of *runs*, made by version 0.1.0 on a machine of two cores."""
    values: dict[str, Any] = {
        "tool": Tool(name="torch-leak-harness", version="0.1.0"),
        "environment": Environment(
            python="3.11.7",
            torch="2.13.0",
            platform="Linux-6.8-x86_64",
            cpu_count=2,
            torch_threads=1,
            memory_bytes=8 * 1024**3,
            seed=0,
        ),
        "runs": runs,
    }
    return Report(**values | changes)


def a_run(scenario: str = "tidy", **changes: Any) -> RunReport:
    """A stable run of 64 steps that ended as expected."""
    values: dict[str, Any] = {
        "scenario": scenario,
        "path": f"work/{scenario}.py",
        "variant": "step",
        "subject": SubjectId(pid=4711),
        "outcome": "stable",
        "reasons": ("no storage outlived its step",),
        "expected": Expectation(kind="stable"),
        "as_expected": True,
        "steps": 64,
        "warmup_steps": 8,
        "elapsed_s": 1.25,
        "throughput": Throughput(steps_per_s=51.0),
        "peak_bytes": {"cpu": 32768},
        "allocations_per_step": 2.0,
        "growth": {},
        "findings": (),
        "look_alikes": (),
        "notes": (),
        "ending": Ending(status="ok"),
    }
    return RunReport(**values | changes)


def a_finding(**changes: Any) -> Finding:
    """A module-level list that gains a tensor of 16 KiB a step."""
    values: dict[str, Any] = {
        "cause": "held_reference",
        "fault": None,
        "explanation": "something that outlives the step keeps the tensors allocated at line 12 in step",
        "fix": "Drop them when the step is done, or bound the container.",
        "device": "cpu",
        "confidence": "exact",
        "bytes_per_step": 16384.0,
        "tensor_bytes_per_step": 16384.0,
        "objects_per_step": 1.0,
        "retained_bytes": 56 * 16384,
        "allocated_at": (
            Frame(path="/home/me/work/train.py", line=12, function="step", source="x = torch.ones(64, 64)"),
            Frame(path="work/train.py", line=30, function="epoch", source="step(i)"),
        ),
        "held_by": HeldBy(
            text="module train > history: list > [*]",
            root="module train",
            links=("history: list", "[*]"),
            suspect="history",
        ),
        "fingerprint": "f00d",
    }
    return Finding(**values | changes)


def a_leak(scenario: str = "train", **changes: Any) -> RunReport:
    """A run of code that nobody expected to leak, and that does."""
    steps = tuple(range(0, 64, 4))
    values: dict[str, Any] = {
        "outcome": "leak",
        "as_expected": False,
        "reasons": (
            "the storages of one site grow by 16384 bytes a step, to the end",
            "the oldest of them is 55 steps old and alive",
        ),
        "growth": {
            "leak.bytes": Growth(per_step=16384.0, low=16384.0, high=16384.0, unit="bytes", trend="growing"),
        },
        "findings": (a_finding(),),
        "curves": (Curve(metric="leak.bytes", steps=steps, values=tuple(16384.0 * step for step in steps)),),
    }
    return a_run(scenario, **values | changes)


def a_recording(name: str = "tidy", path: str = "tidy.py") -> Recording:
    """The recording of a process that ended before its first step."""
    environment = Environment(
        python="3.11", torch=None, platform="x", cpu_count=1, torch_threads=None, memory_bytes=1, seed=0
    )
    nothing = Series(metric="step", steps=(), values=())
    subject = SubjectRecord(
        role="plain",
        pid=1,
        warmup_steps=0,
        steps=0,
        elapsed_ns=0,
        step_ns=nothing,
        series=(),
        ending=Ending(status="ok"),
    )
    return Recording(
        tool=Tool(name="torch-leak-harness", version="0"),
        environment=environment,
        scenario=ScenarioFacts(name=name, path=path, variant="step"),
        subjects=(subject,),
    )
