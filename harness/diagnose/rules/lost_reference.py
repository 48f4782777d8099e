"""Objects whose reference count is higher than their referrers: extension code forgot to let go."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["lost_reference"]


def lost_reference(case: Case) -> Opinion | None:
    """Asked of what is alive although nothing refers to it."""
    path = case.path
    if path is None or path.root_kind != "surplus":
        return None
    what = path.links[0].kind if path.links else "objects"
    return Opinion(
        cause="lost_reference",
        explanation=(
            f"objects of type {what} stay alive and nothing refers to them: their reference count is one too high, as "
            f"when C code takes a reference and never gives it back; they keep what {case.place} allocated"
        ),
        fix=(
            "Look for the extension, ctypes or cffi call that gets the object: each Py_INCREF needs its Py_DECREF, and "
            "py_object results and callbacks that return new references must be released."
        ),
    )
