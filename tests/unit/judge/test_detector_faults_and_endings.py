"""From a recording to a verdict: faults, bad endings, and data that allow none."""

from __future__ import annotations

from harness.judge.detector import judge
from harness.model.expectation import Expectation
from tests.builders import MIB, line, recording, site, subject
from tests.unit.judge.subjects import (
    STEPS,
    fault,
    followed,
    plain,
    still,
    with_fault,
)


def test_a_fault_that_torch_raised_decides() -> None:
    failed = subject("plain", {}, ending="raised", faults=[fault("shape_mismatch", raised=True)], steps=0)

    verdict = judge(recording(failed))

    assert (verdict.outcome, verdict.final, [f.fault for f in verdict.faults]) == ("fault", True, ["shape_mismatch"])


def test_a_quiet_fault_is_a_note() -> None:
    verdict = judge(with_fault())

    assert (verdict.outcome, verdict.notes) == ("stable", ("null_gradient in step 0: weight.grad is None",))


def test_a_quiet_fault_decides_when_asked_for() -> None:
    assert judge(with_fault(), faults=True).outcome == "fault"


def test_a_quiet_fault_decides_when_expected() -> None:
    seen = subject("plain", still(), faults=[fault()])

    verdict = judge(recording(seen, expected=Expectation(kind="fault", fault="null_gradient")))

    assert verdict.outcome == "fault"


def test_a_proven_leak_beats_a_fault_that_was_not_expected() -> None:
    assert judge(with_fault(fds=line(STEPS, 1)), faults=True).outcome == "leak"


def test_an_expected_fault_beats_a_leak() -> None:
    seen = subject("plain", still() | {"fds": line(STEPS, 1)}, faults=[fault()])

    assert judge(recording(seen, expected=Expectation(kind="fault", fault="null_gradient"))).outcome == "fault"


def test_a_file_that_cannot_be_run_failed() -> None:
    verdict = judge(recording(subject("plain", {}, started=False, ending="raised", detail="No module named 'foo'")))

    assert (verdict.outcome, verdict.reasons) == (
        "failed",
        ("the plain subject ended badly after 0 steps (raised): No module named 'foo'",),
    )


def test_a_crash_after_few_steps_failed() -> None:
    verdict = judge(recording(subject("plain", still(20), ending="crashed", detail="SIGSEGV")))

    assert verdict.outcome == "failed"
    assert "too few steps: 12 after 8 of warm-up" in verdict.reasons[1]


def test_a_crash_after_many_steps_keeps_the_verdict() -> None:
    grown = still(200) | {"heap.used": line(200, MIB), "rss.anon": line(200, MIB)}

    verdict = judge(recording(subject("plain", grown, ending="crashed", detail="SIGSEGV")))

    assert verdict.outcome == "leak"
    assert verdict.reasons[-1] == "the plain subject ended badly after 200 steps (crashed): SIGSEGV"


def test_a_leak_that_ran_out_of_memory_needs_few_steps() -> None:
    grown = still(24) | {"heap.used": line(24, 100 * MIB), "rss.anon": line(24, 100 * MIB)}

    assert judge(recording(subject("plain", grown, ending="out_of_memory"))).outcome == "leak"


def test_too_few_steps_are_inconclusive() -> None:
    verdict = judge(recording(plain(30)))

    assert (verdict.outcome, verdict.final) == ("inconclusive", False)
    assert verdict.reasons == ("too few steps: 22 after 8 of warm-up ran in the plain subject, and a verdict needs 32",)


def test_an_incomplete_ledger_is_not_used() -> None:
    verdict = judge(recording(plain(), followed(site(line(STEPS, 4096, start=0)), dropped=7)))

    assert verdict.outcome == "stable"
    assert "it had no room for 7 storages" in verdict.notes[0]


def test_a_recording_without_subjects_failed() -> None:
    assert judge(recording()).outcome == "failed"
