"""Why it leaks: each rule answers for what it knows and for nothing else, and the order decides the rest."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.diagnose import diagnose
from harness.diagnose.fault_fixes import FAULT_FIXES
from harness.diagnose.fingerprint import fingerprint
from harness.model.allocation import Frame, SiteRecord
from harness.model.expectation import CAUSES, FAULTS
from harness.model.recording import FaultRecord, Recording
from harness.model.report import Finding
from harness.model.series import Growth
from harness.model.verdict import Suspect, Verdict
from tests.report_builder import a_recording

LINE_12 = Frame(path="train.py", line=12, function="step", source="kept.append(torch.ones(64))")
LINE_30 = Frame(path="train.py", line=30, function="step", source="more.append(torch.ones(8))")


def growing(per_step: float, unit: str = "bytes") -> Growth:
    return Growth(per_step=per_step, low=per_step, high=per_step, unit=unit, trend="growing")


def a_site(*, frame: Frame = LINE_12, in_graph: int = 0, device: str = "cpu") -> SiteRecord:
    """One storage of 256 bytes a step, all alive after four steps."""
    return SiteRecord(
        site=1,
        device=device,
        operator="aten::ones",
        frames=(frame,),
        steps=(0, 1, 2, 3),
        storages=(1, 2, 3, 4),
        bytes=(256, 512, 768, 1024),
        oldest_birth=(0, 0, 0, 0),
        in_graph=in_graph,
    )


def a_tensor_suspect(**site: Any) -> Suspect:
    return Suspect(metric="leak.bytes", growth=growing(256), site=a_site(**site), site_growth=growing(256))


def found(*suspects: Suspect, recording: Recording | None = None, **grows: float) -> tuple[Finding, ...]:
    """The findings for *suspects*; ``heap_used=5.0`` says that the verdict saw that metric grow so much a step."""
    verdict = Verdict(
        outcome="leak",
        final=True,
        reasons=(),
        warmup_steps=0,
        growth={name.replace("_", ".", 1): growing(per_step) for name, per_step in grows.items()},
        suspects=suspects,
    )
    return diagnose(recording or a_recording(), verdict)


@pytest.mark.parametrize(
    ("metric", "cause"),
    [
        ("children.count", "child_process_growth"),
        ("children.bytes", "child_process_growth"),
        ("threads", "thread_growth"),
        ("fds", "fd_growth"),
        ("shm.bytes", "shared_memory_growth"),
        ("rss.shared", "shared_memory_growth"),
        ("device.reserved", "device_cache_growth"),
        ("python.bytes", "python_objects"),
        ("heap.used", "native_heap"),
        ("mapped.private", "native_heap"),
        ("leak.bytes", "held_reference"),
    ],
)
def test_what_grows_alone_names_its_own_cause(metric: str, cause: str) -> None:
    (finding,) = found(Suspect(metric=metric, growth=growing(3.0)))

    assert finding.cause == cause
    assert finding.cause in CAUSES
    assert finding.explanation
    assert finding.fix


def test_survivors_that_a_graph_holds_are_a_retained_graph() -> None:
    (finding,) = found(a_tensor_suspect(in_graph=4))

    assert finding.cause == "autograd_graph_retained"
    assert finding.allocated_at == (LINE_12,)


def test_survivors_that_no_graph_holds_are_held_by_reference() -> None:
    (finding,) = found(a_tensor_suspect(in_graph=1))

    assert finding.cause == "held_reference"


def test_a_heap_that_grows_with_its_graph_nodes_is_a_retained_graph() -> None:
    (finding,) = found(Suspect(metric="heap.used", growth=growing(5000)), graph_nodes=8.0, heap_used=5000.0)

    assert finding.cause == "autograd_graph_retained"
    assert "8 autograd nodes a step" in finding.explanation


def test_reserved_memory_that_grows_with_allocated_memory_is_no_cache_growth() -> None:
    (finding,) = found(Suspect(metric="device.reserved", growth=growing(5000)), device_allocated=5000.0)

    assert finding.cause != "device_cache_growth"


def test_garbage_that_was_frozen_is_a_reference_cycle() -> None:
    recording = a_recording()
    frozen = tuple(msgspec.structs.replace(s, frozen_growth=10 * s.steps + 1) for s in recording.subjects)

    (finding,) = found(a_tensor_suspect(), recording=msgspec.structs.replace(recording, subjects=frozen))

    assert finding.cause == "reference_cycle"
    assert "gc.freeze()" in finding.explanation


def test_several_operators_of_one_line_are_one_finding() -> None:
    (finding,) = found(a_tensor_suspect(), a_tensor_suspect())

    assert finding.tensor_bytes_per_step == 512
    assert finding.objects_per_step == 2
    assert finding.retained_bytes == 2048


def test_two_lines_are_two_findings() -> None:
    findings = found(a_tensor_suspect(), a_tensor_suspect(frame=LINE_30))

    assert [finding.allocated_at[0].line for finding in findings] == [12, 30]


def test_the_only_finding_owns_all_growth_of_the_heap() -> None:
    (finding,) = found(a_tensor_suspect(), heap_used=300.0, python_bytes=20.0)

    assert finding.tensor_bytes_per_step == 256
    assert finding.bytes_per_step == 300


def test_a_fault_comes_with_its_line_and_its_cure() -> None:
    fault = FaultRecord(
        fault="device_mismatch", explanation="linear met cpu and meta", step=0, raised=False, path="train.py", line=12
    )
    verdict = Verdict(outcome="fault", final=True, reasons=(), warmup_steps=0, growth={}, faults=(fault,))

    (finding,) = diagnose(a_recording(), verdict)

    assert (finding.cause, finding.fault) == (None, "device_mismatch")
    assert finding.allocated_at[0].line == 12
    assert finding.fix == FAULT_FIXES["device_mismatch"]


def test_every_fault_of_the_contract_has_a_cure() -> None:
    assert set(FAULT_FIXES) == set(FAULTS)


def test_a_fingerprint_survives_edits_elsewhere_in_the_file() -> None:
    moved = msgspec.structs.replace(LINE_12, line=99)

    assert fingerprint("held_reference", "t.py", LINE_12, "leak.bytes") == fingerprint(
        "held_reference", "t.py", moved, "leak.bytes"
    )


def test_a_fingerprint_tells_causes_and_lines_apart() -> None:
    prints = {
        fingerprint("held_reference", "t.py", LINE_12, "leak.bytes"),
        fingerprint("hook_accumulation", "t.py", LINE_12, "leak.bytes"),
        fingerprint("held_reference", "t.py", LINE_30, "leak.bytes"),
    }

    assert len(prints) == 3


def test_a_fingerprint_does_not_depend_on_where_the_project_lies(tmp_path: Any) -> None:
    prints = set()
    for home in ("alice", "bob"):
        project = tmp_path / home / "project"
        project.mkdir(parents=True)
        (project / "pyproject.toml").touch()
        frame = msgspec.structs.replace(LINE_12, path=str(project / "src" / "train.py"))
        prints.add(fingerprint("held_reference", "t.py", frame, "leak.bytes"))

    assert len(prints) == 1
