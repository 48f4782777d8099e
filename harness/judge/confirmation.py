"""Did growth stop where the suspect edge was cut? One subject with the cut against one without."""

from __future__ import annotations

import numpy as np

from harness.judge.policy import DEFAULT, Policy
from harness.model.recording import Recording, SubjectRecord
from harness.stats.trend import robust_trend

__all__ = ["confirmed_by_cutting"]

_TENSORS = ("leak.bytes",)
_OBJECTS = ("heap.used", "python.bytes")


def confirmed_by_cutting(
    recording: Recording, fingerprint: str, *, bytes_per_step: float, tensors: bool, policy: Policy = DEFAULT
) -> bool | None:
    """True: with the edge cut, growth is less by this finding's bytes a step, or nearly so. False: it is hardly less.
    None: nobody cut there, the program did not survive it, or it came out between."""
    cut = next((s for s in recording.subjects if s.cut is not None and s.cut.fingerprint == fingerprint), None)
    whole = recording.subject("ledger")
    if cut is None or whole is None or cut.ending.status != "ok" or not cut.cuts or bytes_per_step <= 0:
        return None
    metrics = _TENSORS if tensors else _OBJECTS
    before, after = (sum(_rate(subject, metric) for metric in metrics) for subject in (whole, cut))
    share = (before - after) / bytes_per_step
    if share >= policy.cut_confirms_share:
        return True
    return False if share <= policy.cut_refutes_share else None


def _rate(subject: SubjectRecord, metric: str) -> float:
    series = subject.find(metric)
    kept = series.since(subject.warmup_steps) if series is not None else None
    if kept is None or len(kept.steps) < 2:
        return 0.0
    return robust_trend(np.asarray(kept.steps, dtype=float), np.asarray(kept.values, dtype=float)).slope
