"""What the steps of an optimizer showed of each of its parameters: judged at the end, over all that were seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from harness.gradients.named import listed
from harness.gradients.watch.calls import Place
from harness.gradients.watch.why_null import Reason
from harness.model.recording import FaultRecord

__all__ = ["LEAST_SEEN", "Evidence", "faults_of", "in_no_optimizer"]

LEAST_SEEN = 2
"""One step shows nothing: an expert that is not asked has no gradient in it, and the first of two low-rank factors a
zero one."""

_EXPLAINED_ANEW = 3

_NEVER_REGISTERED = Reason(
    code="not_registered", text="no optimizer has them and nothing changes them: were they never registered?"
)


class Evidence(msgspec.Struct, eq=False, kw_only=True):
    """One parameter's. ``place`` is where its optimizer was asked to step; ``version`` how often it had been changed
    when it was first seen; ``reached`` in how many steps backward came to it."""

    name: str
    weak: Any
    place: Place | None = None
    seen: int = 0
    missing: int = 0
    zero: int = 0
    not_finite: int = 0
    reached: int = 0
    first_step: int = -1
    version: int = 0
    owned: bool = False
    why_missing: Reason | None = None
    why_zero: Reason | None = None
    why_not_finite: Reason | None = None
    not_finite_count: tuple[int, int] = (0, 0)

    def wants_reason(self, times: int) -> bool:
        """Whether to look for the reason again: the first few times, since a look takes a while."""
        return times <= _EXPLAINED_ANEW


def faults_of(found: Iterable[Evidence]) -> Iterator[FaultRecord]:
    """One record a kind, reason and line: parameters that share them are told together."""
    every = [evidence for evidence in found if evidence.seen]
    wrong = [e for e in every if e.not_finite and e.why_not_finite is not None]
    yield from _told("non_finite_gradient", wrong, "why_not_finite")
    lasting = [e for e in every if e.seen >= LEAST_SEEN]
    yield from _told("null_gradient", [e for e in lasting if e.missing == e.seen and e.why_missing], "why_missing")
    yield from _told("zero_gradient", [e for e in lasting if e.zero == e.seen and e.why_zero], "why_zero")


def in_no_optimizer(found: Iterable[Evidence]) -> Iterator[FaultRecord]:
    """Parameters that got gradients all the time, and that nobody changed: no optimizer knows them."""
    lost = []
    for evidence in found:
        tensor = evidence.weak()
        if evidence.owned or evidence.reached < LEAST_SEEN or tensor is None or tensor._version != evidence.version:
            continue
        lost.append(msgspec.structs.replace(evidence, missing=evidence.reached, why_missing=_NEVER_REGISTERED))
    yield from _told("null_gradient", lost, "why_missing")


_SAYS = {
    "null_gradient": "no gradient comes to {names}: {text}",
    "zero_gradient": "the gradient of {names} is all zero: {text}",
    "non_finite_gradient": "the gradient of {names} is not finite: {text}",
}


def _told(fault: str, found: list[Evidence], which: str) -> Iterator[FaultRecord]:
    groups: dict[Reason, list[Evidence]] = {}
    for evidence in found:
        groups.setdefault(getattr(evidence, which), []).append(evidence)
    for reason, group in groups.items():
        place, says, text = reason.place or group[0].place, _SAYS[fault], reason.text
        if reason.code == "not_registered":
            says = "backward brings gradients to {names}, and nobody uses them: {text}"
        if fault == "non_finite_gradient":
            count, of = group[0].not_finite_count
            text = f"{text} ({count} of {of} numbers in that of {group[0].name})"
        yield FaultRecord(
            fault=fault,
            explanation=says.format(names=listed(e.name for e in group), text=text),
            step=min(e.first_step for e in group),
            raised=False,
            path=place.path if place else None,
            line=place.line if place else None,
            function=place.function if place else None,
            source=place.source if place else None,
            count=max({"null_gradient": e.missing, "zero_gradient": e.zero}.get(fault, e.not_finite) for e in group),
            parameters=tuple(e.name for e in group),
            reason=reason.code,
        )
