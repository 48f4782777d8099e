"""Leaving a dispatch mode, in whatever order."""

from __future__ import annotations

from torch.utils import _python_dispatch as dispatch

__all__ = ["leave_mode"]


def leave_mode(mode: dispatch.TorchDispatchMode) -> None:
    """Take *mode* from this thread's stack, also where others were put on it since and are still there."""
    stack = dispatch._get_current_dispatch_mode_stack()
    if not any(one is mode for one in stack):
        return
    above = []
    while stack and stack[-1] is not mode:
        above.append(dispatch._pop_mode())
        stack = dispatch._get_current_dispatch_mode_stack()
    mode.__exit__(None, None, None)
    for one in reversed(above):
        dispatch._push_mode(one)
