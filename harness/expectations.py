"""Whether a run came out as its author said: the outcome, and what is claimed against the other half."""

from __future__ import annotations

from harness.model.expectation import Expectation
from harness.model.report import Comparison, RunReport

__all__ = ["as_expected", "compare"]


def as_expected(run: RunReport) -> bool:
    """True where everything that ``run.expected`` claims is so, and the run ended well or with the expected fault.

    A scenario that is to be slower, heavier or busier than its fix needs both halves: without a comparison there
    is nothing to hold it to, and only its outcome counts.
    """
    expected = run.expected
    ended_well = run.ending.status == "ok"
    match expected.kind:
        case "leak":
            causes = {finding.cause for finding in run.findings}
            return ended_well and run.outcome == "leak" and expected.cause in causes
        case "fault":
            return run.outcome == "fault" and expected.fault in {finding.fault for finding in run.findings}
        case "look_alike":
            classes = {look_alike.look_alike for look_alike in run.look_alikes}
            return ended_well and run.outcome == "stable" and expected.look_alike in classes
        case "gradient_wrong":
            found = {finding.fault for finding in run.findings}
            return run.outcome == "fault" and not found.isdisjoint(("gradient_wrong", "gradients_not_zeroed"))
        case _:
            return ended_well and run.outcome == "stable" and _ratio_holds(expected, run.comparison)


def _ratio_holds(expected: Expectation, comparison: Comparison | None) -> bool:
    if comparison is None or expected.at_least is None:
        return True
    ratio = {
        "slower": comparison.throughput_ratio,
        "higher_peak": comparison.peak_ratio,
        "more_allocations": comparison.allocation_ratio,
    }[expected.kind]
    return ratio is not None and ratio >= expected.at_least


def compare(step: RunReport, fixed: RunReport) -> Comparison:
    """The two halves of one scenario: throughput as fixed/step, peak and allocations as step/fixed."""
    ratio = _quotient(_speed(fixed), _speed(step))
    low, high = _spread(step, fixed)
    return Comparison(
        throughput_ratio=ratio,
        throughput_low=ratio * low if ratio is not None else None,
        throughput_high=ratio * high if ratio is not None else None,
        peak_ratio=_quotient(sum(step.peak_bytes.values()), sum(fixed.peak_bytes.values())),
        allocation_ratio=_quotient(step.allocations_per_step, fixed.allocations_per_step),
    )


def _speed(run: RunReport) -> float | None:
    return run.throughput.steps_per_s if run.throughput is not None else None


def _spread(step: RunReport, fixed: RunReport) -> tuple[float, float]:
    """By which factors the ratio of the two speeds may be off, when each lies at the far end of its middle half."""
    if step.throughput is None or fixed.throughput is None:
        return 1.0, 1.0
    return fixed.throughput.low / step.throughput.high, fixed.throughput.high / step.throughput.low


def _quotient(top: float | None, bottom: float | None) -> float | None:
    return top / bottom if top is not None and bottom else None
