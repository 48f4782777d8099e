"""Growth that stops where the edge is cut confirms it; growth that goes on refutes it."""

from __future__ import annotations

import msgspec
import pytest

from harness.judge.confirmation import confirmed_by_cutting
from harness.model.holding import CutOrder
from harness.model.recording import Ending, Recording, SubjectRecord
from tests.builders import flat, line, recording, subject

ORDER = CutOrder(module="train", way=(), is_binding=False, fingerprint="f")


def the_recording(cut_per_step: float, **said: object) -> Recording:
    whole = subject("ledger", {"leak.bytes": line(64, 4096)})
    rates = line(64, cut_per_step) if cut_per_step else flat(64)
    cut: SubjectRecord = msgspec.structs.replace(
        subject("cut", {"leak.bytes": rates}), **{"cut": ORDER, "cuts": 60, **said}
    )
    return recording(whole, cut)


@pytest.mark.parametrize(("left", "said"), [(0, True), (500, True), (2048, None), (4000, False), (4096, False)])
def test_what_is_left_of_the_growth_decides(left: float, said: bool | None) -> None:
    assert confirmed_by_cutting(the_recording(left), "f", bytes_per_step=4096, tensors=True) is said


def test_another_findings_cut_says_nothing() -> None:
    assert confirmed_by_cutting(the_recording(0), "other", bytes_per_step=4096, tensors=True) is None


def test_a_program_that_did_not_survive_the_cut_says_nothing() -> None:
    broken = the_recording(0, ending=Ending(status="raised"))

    assert confirmed_by_cutting(broken, "f", bytes_per_step=4096, tensors=True) is None


def test_where_there_was_nothing_to_cut_nothing_is_said() -> None:
    assert confirmed_by_cutting(the_recording(0, cuts=0), "f", bytes_per_step=4096, tensors=True) is None


def test_one_of_two_leaks_is_confirmed_where_its_own_part_stops() -> None:
    assert confirmed_by_cutting(the_recording(3072), "f", bytes_per_step=1024, tensors=True) is True
