"""Whether it is worth asking who holds what: a walk over all objects costs some tens of milliseconds, twice."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.judge.assessment import Assessment, assess
from harness.judge.policy import DEFAULT, Policy
from harness.model.recording import SubjectRecord

__all__ = ["holders_wanted"]

_HELD = ("heap.used", "python.bytes", "python.blocks", "threads", "fds", "children.count", "shm.bytes", "rss.shared",
         "leak.bytes", "leak.tensors", "device.allocated", "graph.nodes")  # fmt: skip
"""What somebody in the process may hold."""


def holders_wanted(subjects: Sequence[SubjectRecord], policy: Policy = DEFAULT) -> tuple[int, ...] | None:
    """The sites whose survivors grow in the last of *subjects*, the largest first; empty where only other things grow
    in any of them; None where nothing does."""
    soon = msgspec.structs.replace(policy, least_steps=policy.least_steps_to_suspect)
    assessed = [assess(subject, soon) for subject in subjects if subject.started]
    if not assessed:
        return None
    sites = tuple(s.site.site for s in assessed[-1].growing_sites[: policy.most_suspects])
    return sites if sites or any(_may_hold(a) for a in assessed) else None


def _may_hold(assessment: Assessment) -> bool:
    if not assessment.sound:  # it ran out of memory before it could be judged, say
        return assessment.subject.ending.status in ("out_of_memory", "killed")
    return any(
        movement is not None and (movement.grows or movement.unsettled) for movement in map(assessment.find, _HELD)
    )
