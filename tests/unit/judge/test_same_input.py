"""The experiment in which every step has the same input: evidence for a look-alike, and for nothing else."""

from __future__ import annotations

from harness.judge.detector import judge
from harness.model.recording import SubjectRecord
from tests.builders import MIB, fills, flat, line, recording, subject

SAID = "with the same input in every step nothing grew"


def evidence_with(repeated: SubjectRecord) -> str:
    filled = subject(readings={"heap.used": fills(408, 120)})
    verdict = judge(recording(filled, repeated))
    assert verdict.outcome == "stable"
    return "; ".join(found.evidence for found in verdict.look_alikes)


def test_a_fill_that_stops_when_the_input_repeats_says_so() -> None:
    assert SAID in evidence_with(subject("repeated", {"heap.used": flat(72)}))


def test_a_fill_that_goes_on_with_one_input_says_nothing() -> None:
    assert SAID not in evidence_with(subject("repeated", {"heap.used": line(72)}))


def test_a_repetition_that_ended_badly_says_nothing_and_changes_nothing() -> None:
    assert SAID not in evidence_with(subject("repeated", {"heap.used": flat(5)}, ending="raised"))


def test_a_leak_stays_a_leak_whatever_the_repetition_shows() -> None:
    leaking = subject(readings={"heap.used": line(408, 65_536, start=50 * MIB), "rss.anon": line(408, 65_536)})

    alone = judge(recording(leaking))
    both = judge(recording(leaking, subject("repeated", {"heap.used": flat(72)})))

    assert (both.outcome, both.reasons) == (alone.outcome, alone.reasons)
    assert both.outcome == "leak"
