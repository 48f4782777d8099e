"""What an exception says, whatever its class does when it is asked: raises, never ends, or says 50 MB."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

from harness.capture.tail import middle_out
from harness.ledger.sites import is_users_file

__all__ = ["text_of", "users_traceback", "users_traceback_text"]

_LONGEST = 16 * 1024
"""More is no message any more; looking through 50 MB for torch's words takes minutes."""


def text_of(error: BaseException) -> str:
    """``str(error)``, at most 16 KiB of it; why there is none where asking for it raises."""
    try:
        return middle_out(str(error), _LONGEST)
    except BaseException as own:
        return f"<what it says cannot be had: its __str__ raised {type(own).__name__}>"


def users_traceback(error: BaseException) -> TracebackType | None:
    """The traceback from the user's first frame on."""
    hidden: Any = BaseException.__dict__["__traceback__"]  # the error's own class may have another
    trace: TracebackType | None = hidden.__get__(error)
    while trace is not None and not is_users_file(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def users_traceback_text(error: BaseException) -> str:
    """What Python would print, from the user's first frame on, at most 16 KiB of it."""
    trace = users_traceback(error)
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:
        text = "".join((*traceback.format_tb(trace), f"{type(error).__name__}: {text_of(error)}"))
    return middle_out(text.rstrip(), _LONGEST)
