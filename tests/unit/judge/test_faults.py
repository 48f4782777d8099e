"""Which faults decide, and in whose words they are told."""

from __future__ import annotations

import msgspec

from harness.judge.faults import split_faults
from harness.model.expectation import Expectation
from harness.model.recording import FaultRecord
from tests.builders import recording, subject

RAISED = FaultRecord(fault="shape_mismatch", explanation="torch says: 3x5 and 4x2", step=0, raised=True, line=7)
EXPLAINED = msgspec.structs.replace(RAISED, explanation="line 7: matmul was given wide and weight", line=6)
SILENT = FaultRecord(fault="zero_gradient", explanation="it dies in relu", step=3, raised=False, line=9)


def test_what_a_step_raised_is_told_by_the_subject_that_followed_its_gradients() -> None:
    recorded = recording(
        subject(ending="raised", faults=(RAISED,)), subject("gradients", ending="raised", faults=(EXPLAINED,))
    )

    assert split_faults(recorded, faults=False) == ((EXPLAINED,), ())


def test_where_nobody_followed_them_torchs_words_stand() -> None:
    assert split_faults(recording(subject(ending="raised", faults=(RAISED,))), faults=False) == ((RAISED,), ())


def test_a_silent_fault_of_the_gradients_is_a_note_unless_it_is_expected_or_asked_for() -> None:
    subjects = (subject(), subject("gradients", faults=(SILENT,)))
    expected = Expectation(kind="fault", fault="zero_gradient")

    assert split_faults(recording(*subjects), faults=False) == ((), (SILENT,))
    assert split_faults(recording(*subjects), faults=True) == ((SILENT,), ())
    assert split_faults(recording(*subjects, expected=expected), faults=False) == ((SILENT,), ())


def test_a_wrong_gradient_is_announced_by_either_of_its_faults() -> None:
    wrong = Expectation(kind="gradient_wrong")
    added = FaultRecord(fault="gradients_not_zeroed", explanation="added", step=1, raised=False)

    assert split_faults(recording(subject("ledger", faults=(added,)), expected=wrong), faults=False) == ((added,), ())
    assert split_faults(recording(subject(faults=(SILENT,)), expected=wrong), faults=False) == ((), (SILENT,))
