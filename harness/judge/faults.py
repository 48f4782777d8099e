"""Which of the faults that observers saw decide the outcome, and which are notes."""

from __future__ import annotations

from harness.model.expectation import Expectation
from harness.model.recording import FaultRecord, Recording

__all__ = ["fault_note", "split_faults"]


def split_faults(recording: Recording, *, faults: bool) -> tuple[tuple[FaultRecord, ...], tuple[FaultRecord, ...]]:
    """(deciding, others). A fault decides where torch raised it, where it is expected, or where *faults* asks for all.

    The same fault seen in several subjects counts once; what a step raised is told in the words of the subject that
    followed its gradients, where there is one.
    """
    seen: dict[tuple[str, str | None, int | None], FaultRecord] = {}
    followed = recording.subject("gradients")
    explained = {fault.fault for fault in followed.faults if fault.raised} if followed is not None else set()
    for subject in recording.subjects:
        for fault in subject.faults if subject.role not in ("native", "repeated") else ():
            if fault.raised and fault.fault in explained and subject is not followed:
                continue
            if subject.role == "reads" and fault.fault != "use_after_close":
                continue  # it was run for that alone
            key = (fault.fault, fault.path, fault.line)
            if key not in seen or (fault.raised and not seen[key].raised):
                seen[key] = fault
    expected = recording.scenario.expected
    deciding = tuple(f for f in seen.values() if f.raised or faults or is_expected(f, expected))
    return deciding, tuple(f for f in seen.values() if f not in deciding)


def is_expected(fault: FaultRecord, expected: Expectation) -> bool:
    """Whether the scenario's author announced this fault."""
    if expected.kind == "gradient_wrong":
        return fault.fault in ("gradient_wrong", "gradients_not_zeroed")
    return expected.kind == "fault" and expected.fault in (None, fault.fault)


def fault_note(fault: FaultRecord) -> str:
    """The sentence for a fault that does not decide."""
    times = f", {fault.count} times" if fault.count > 1 else ""
    return f"{fault.fault} in step {fault.step}{times}: {fault.explanation}"
