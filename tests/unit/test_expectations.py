"""Whether a run came out as its author said."""

from __future__ import annotations

import msgspec
import pytest

from harness.expectations import as_expected, compare
from harness.model.expectation import Expectation
from harness.model.recording import Ending
from harness.model.report import Comparison, Throughput
from harness.model.verdict import LookAlike
from tests.report_builder import a_finding, a_run


def test_a_leak_must_have_the_expected_cause() -> None:
    leaking = a_run(outcome="leak", findings=(a_finding(),), expected=Expectation(kind="leak", cause="held_reference"))
    another = msgspec.structs.replace(leaking, expected=Expectation(kind="leak", cause="fd_growth"))

    assert as_expected(leaking)
    assert not as_expected(another)


def test_a_fault_must_be_of_the_expected_kind() -> None:
    fault = a_finding(cause=None, fault="device_mismatch")
    faulty = a_run(outcome="fault", findings=(fault,), expected=Expectation(kind="fault", fault="device_mismatch"))

    assert as_expected(faulty)
    assert not as_expected(msgspec.structs.replace(faulty, expected=Expectation(kind="fault", fault="null_gradient")))


def test_an_expected_fault_may_end_the_run_by_an_exception() -> None:
    raised = a_run(
        outcome="fault",
        findings=(a_finding(cause=None, fault="device_mismatch"),),
        expected=Expectation(kind="fault", fault="device_mismatch"),
        ending=Ending(status="raised"),
    )

    assert as_expected(raised)


def test_a_stable_run_that_ended_badly_is_not_as_expected() -> None:
    assert not as_expected(a_run(ending=Ending(status="raised")))


def test_a_look_alike_is_stable_and_says_which_one_it_is() -> None:
    bounded = a_run(
        look_alikes=(LookAlike(look_alike="bounded_cache", bytes=1, evidence="it stopped"),),
        expected=Expectation(kind="look_alike", look_alike="bounded_cache"),
    )

    assert as_expected(bounded)
    assert not as_expected(msgspec.structs.replace(bounded, look_alikes=()))


@pytest.mark.parametrize("kind", ["slower", "higher_peak", "more_allocations"])
@pytest.mark.parametrize(("ratio", "holds"), [(3.9, False), (4.0, True), (None, False)])
def test_a_claimed_ratio_is_held_against_the_other_half(kind: str, ratio: float | None, holds: bool) -> None:
    comparison = Comparison(throughput_ratio=ratio, peak_ratio=ratio, allocation_ratio=ratio)
    expected = Expectation(kind=kind, at_least=4.0)  # type: ignore[arg-type]

    assert as_expected(a_run(expected=expected, comparison=comparison)) is holds


def test_one_half_alone_is_held_to_its_outcome_only() -> None:
    assert as_expected(a_run(expected=Expectation(kind="slower", at_least=4.0)))


def test_halves_are_compared_so_that_above_one_the_fix_pays() -> None:
    step = a_run(throughput=Throughput(steps_per_s=10), peak_bytes={"cpu": 600}, allocations_per_step=30.0)
    fixed = a_run(throughput=Throughput(steps_per_s=40), peak_bytes={"cpu": 200}, allocations_per_step=10.0)

    assert compare(step, fixed) == Comparison(
        throughput_ratio=4.0, throughput_low=4.0, throughput_high=4.0, peak_ratio=3.0, allocation_ratio=3.0
    )


def test_the_ratio_of_two_speeds_has_the_spread_of_both() -> None:
    step = a_run(throughput=Throughput(steps_per_s=10, low=0.5, high=1.25))
    fixed = a_run(throughput=Throughput(steps_per_s=40, low=0.75, high=1.5))

    comparison = compare(step, fixed)

    assert comparison.throughput_low == 4.0 * 0.75 / 1.25
    assert comparison.throughput_high == 4.0 * 1.5 / 0.5


def test_what_was_not_measured_is_not_compared() -> None:
    unmeasured = a_run(throughput=None, peak_bytes={}, allocations_per_step=None)

    assert compare(unmeasured, unmeasured) == Comparison()
