"""A container or name that outlives the step keeps tensors."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["held_reference"]


def held_reference(case: Case) -> Opinion | None:
    """Asked of surviving storages that no graph holds, and of containers that gain tensors, files, threads."""
    tensors = case.suspect.site is not None or case.suspect.metric in ("leak.bytes", "leak.tensors", "device.allocated")
    if not tensors and (case.container is None or not case.container.element_tensors):
        return None
    path = case.path
    if path is None or path.suspect is None:
        return Opinion(
            cause="held_reference",
            explanation=f"something that outlives the step keeps the tensors allocated at {case.place}",
            fix="Drop them when the step is done, keep a number or a detached copy instead, or bound the container.",
        )
    where = f", at {case.kept_at}" if case.kept_at else ""
    gains = ""
    if path.grew is not None:
        gains = f" (it went from {path.grew[0]:,} to {path.grew[1]:,} elements{where})"
    return Opinion(
        cause="held_reference",
        explanation=f"{case.holder} keeps the tensors allocated at {case.place}{gains}",
        fix=_fix(case),
    )


def _fix(case: Case) -> str:
    link = case.suspect_link
    kind = link.kind if link is not None else ""
    at = f" ({case.kept_line})" if case.kept_line else ""
    if link is not None and link.trait == "cache":
        return f"Give the cache a bound (maxsize), or do not cache by objects that hold tensors: {case.holder}."
    if kind in ("list", "collections.deque"):
        return (
            f"Empty {case.holder} when its elements are used up{at}, keep numbers or small copies in it, or bound it: "
            "collections.deque(maxlen=...)."
        )
    if kind in ("dict", "collections.OrderedDict", "collections.defaultdict"):
        return f"Delete from {case.holder} what is no longer needed{at}, or bound it: its keys are new in every step."
    return f"Let go of {case.holder} when the step is done{at}, or keep a number or a detached copy in it."
