"""A subject's movements by metric, each worked out when it is asked for: a checkpoint needs few of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.judge.growth import Movement, movement_of_series
from harness.judge.policy import Policy
from harness.model.recording import SubjectRecord
from harness.model.series import Series

__all__ = ["OUTSIDE_HEAP", "Movements"]

OUTSIDE_HEAP = "mapped.outside"
"""A movement's key, not a metric: private address space that neither malloc, Python nor a stack accounts for."""

_STACK_BYTES = 8 << 20
"""What glibc maps for a thread's stack unless told otherwise, pthread_create(3)."""


_COUNTED_BY_LEDGER = ("leak.bytes", "leak.tensors", "peak.tensors", "allocations.step")
"""What an incomplete ledger cannot tell."""


class Movements(Mapping[str, Movement]):
    """Movements of *subject*'s series from step *start* on."""

    def __init__(self, subject: SubjectRecord, policy: Policy, *, start: int) -> None:
        incomplete = subject.ledger is not None and subject.ledger.dropped > 0
        unusable = _COUNTED_BY_LEDGER if incomplete else ()
        self._series = {s.metric: s for s in subject.series if s.steps and s.metric not in unusable}
        outside = _outside_heap(subject)
        if outside is not None:
            self._series[OUTSIDE_HEAP] = outside
        self._policy = policy
        self._start = start
        self._known: dict[str, Movement] = {}

    def __getitem__(self, metric: str) -> Movement:
        if metric not in self._known:
            self._known[metric] = movement_of_series(self._series[metric], self._policy, start=self._start)
        return self._known[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)


def _outside_heap(subject: SubjectRecord) -> Series | None:
    """Address space less what is known to be in it, at the steps where all of it was read."""
    parts = (("heap.used", 1), ("heap.free", 1), ("python.bytes", 1), ("threads", _STACK_BYTES))
    whole = subject.find("mapped.private")
    known = [(s, weight) for s, weight in ((subject.find(m), w) for m, w in parts) if s is not None]
    if whole is None or not any(s.metric == "heap.used" for s, _ in known):
        return None
    at = [(dict(zip(s.steps, s.values, strict=True)), weight) for s, weight in known]
    left = [
        (step, value - sum(values[step] * weight for values, weight in at))
        for step, value in zip(whole.steps, whole.values, strict=True)
        if all(step in values for values, _ in at)
    ]
    if not left:
        return None
    return Series(metric=whole.metric, steps=tuple(s for s, _ in left), values=tuple(v for _, v in left))
