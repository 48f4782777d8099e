"""What native stacks say of a finding, and when it is worth taking them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.diagnose import diagnose, needs_native_stacks
from harness.diagnose.releasers import releaser_of
from harness.model.allocation import Frame
from harness.model.native import NativeRecord, NativeSite
from harness.model.recording import Recording
from harness.model.report import Finding
from harness.model.series import Growth
from harness.model.verdict import Suspect, Verdict
from tests.builders import subject
from tests.report_builder import a_recording

LINE_41 = Frame(path="train.py", line=41, function="step", source="p = libc.malloc(60_000)")
LINE_50 = Frame(path="train.py", line=50, function="load", source="z.deflateInit_(s)")


def growing(per_step: float) -> Growth:
    return Growth(per_step=per_step, low=per_step, high=per_step, unit="bytes", trend="growing")


def a_verdict(metric: str = "heap.used", per_step: float = 60000) -> Verdict:
    suspect = Suspect(metric=metric, growth=growing(per_step))
    return Verdict(
        outcome="leak", final=True, reasons=(), warmup_steps=8, growth={metric: suspect.growth}, suspects=(suspect,)
    )


def a_site(size: int, *stack: str, allocations: int = 32, frames: tuple[Frame, ...] = (LINE_41,)) -> NativeSite:
    return NativeSite(bytes=size, stack_bytes=size, allocations=allocations, stack=stack, frames=frames)


def followed(*sites: NativeSite, **more: Any) -> Recording:
    """A recording whose native subject ran 32 steps and left *sites* behind."""
    native = msgspec.structs.replace(subject("native"), native=NativeRecord(steps=32, sites=sites, **more))
    recording = a_recording()
    return msgspec.structs.replace(recording, subjects=(*recording.subjects, native))


def the_finding(*sites: NativeSite, per_step: float = 60000) -> Finding:
    (finding,) = diagnose(followed(*sites), a_verdict(per_step=per_step))
    return finding


def test_a_block_that_python_took_itself_is_told_with_its_line_and_the_call_that_frees_it() -> None:
    finding = the_finding(a_site(32 * 60000, "malloc", "ctypes"))

    assert finding.explanation == (
        "58.6 KiB/step is allocated by malloc, called by ctypes from line 41 in step, and never freed: 100% of the "
        "growth that was measured"
    )
    assert finding.fix == "Call free for what malloc gave at line 41, in a finally block."
    assert finding.allocated_at == (LINE_41,)
    assert finding.native_stack == ("malloc", "ctypes")


def test_the_missing_call_belongs_to_what_python_called_and_not_to_what_that_called() -> None:
    finding = the_finding(a_site(32 * 60000, "malloc", "deflateInit2_", "deflateInit_", "ctypes", frames=(LINE_50,)))

    assert "by malloc in deflateInit2_, called by ctypes from line 50 in load" in finding.explanation
    assert finding.fix == "Call deflateEnd for what deflateInit gave at line 50, in a finally block."


def test_blocks_that_do_not_fit_growth_in_each_step_are_not_named() -> None:
    once = a_site(64000, "malloc", "init_once", "ctypes", allocations=1)

    finding = the_finding(once)

    assert finding.native_stack == ()
    assert "followed natively for 32 steps, no single place leaves a part of it behind" in finding.explanation


def test_one_block_that_grows_by_realloc_explains_no_more_than_the_growth() -> None:
    finding = the_finding(a_site(40 * 60000, "realloc", "grow", "ctypes", allocations=1))

    assert finding.explanation.startswith("58.6 KiB/step is allocated by realloc in grow")
    assert "100% of the growth" in finding.explanation


def test_tensors_under_memray_explain_no_native_growth() -> None:
    finding = the_finding(a_site(32 * 60000, "posix_memalign", "c10::alloc_cpu(unsigned long)", "at::empty"))

    assert finding.native_stack == ()


def test_what_could_not_be_taken_changes_nothing() -> None:
    without = diagnose(a_recording(), a_verdict())

    assert diagnose(followed(absence="memray cannot be imported"), a_verdict()) == without


def test_the_fingerprint_is_the_same_with_and_without_native_stacks() -> None:
    (without,) = diagnose(a_recording(), a_verdict())

    assert the_finding(a_site(32 * 60000, "malloc", "ctypes")).fingerprint == without.fingerprint


@pytest.mark.parametrize("metric", ["heap.used", "mapped.private", "rss.anon"])
def test_native_growth_is_worth_the_experiment(metric: str) -> None:
    assert needs_native_stacks(diagnose(a_recording(), a_verdict(metric)))


@pytest.mark.parametrize("metric", ["python.bytes", "leak.bytes", "fds", "threads"])
def test_what_has_a_count_of_its_own_is_not(metric: str) -> None:
    assert not needs_native_stacks(diagnose(a_recording(), a_verdict(metric)))


@pytest.mark.parametrize(
    ("taken", "given_back"),
    [
        ("strdup", "free"),
        ("fopen", "fclose"),
        ("cudaMalloc", "cudaFree"),
        ("ContextCreate", "ContextDestroy or ContextFree"),
        ("ncclCommInit", "ncclCommDestroy"),
        ("parse", None),
        ("Init", None),
    ],
)
def test_the_call_that_gives_back_is_known_by_table_or_by_habit(taken: str, given_back: str | None) -> None:
    assert releaser_of(taken) == given_back
