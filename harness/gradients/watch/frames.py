"""The user's own frames below a call of ours."""

from __future__ import annotations

import sys
from types import FrameType

from harness.gradients.watch.calls import Place
from harness.ledger.sites import is_users_file

__all__ = ["place_of", "users_frames"]

_MOST_WALKED = 64
_known: dict[str, bool] = {}


def users_frames() -> tuple[FrameType, ...]:
    """This thread's frames in files of the user's own, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    found: list[FrameType] = []
    for _ in range(_MOST_WALKED):
        if frame is None:
            break
        path = frame.f_code.co_filename
        is_users = _known.get(path)
        if is_users is None:
            is_users = _known[path] = is_users_file(path)
        if is_users:
            found.append(frame)
        frame = frame.f_back
    return tuple(found)


def place_of(frames: tuple[FrameType, ...]) -> Place | None:
    """The line that runs in the innermost of *frames*."""
    if not frames:
        return None
    code = frames[0].f_code
    return Place(code.co_filename, frames[0].f_lineno, code.co_qualname)
