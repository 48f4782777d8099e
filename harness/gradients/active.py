"""Which collector is active here, and the grad mode around it.

Two things with different reach: what is active belongs to a context (a thread, a task), and grad mode belongs to a
thread, in which tasks take turns.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.events import _get_running_loop
from contextvars import ContextVar
from threading import get_ident, local
from types import FrameType
from typing import Any

import torch

from harness.errors import GradientContextError
from harness.ledger.sites import is_users_file

__all__ = ["Block"]


class _Thread(local):
    """The blocks that are open in a thread, in the order in which they were entered."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []


_THREAD = _Thread()
_ACTIVE: ContextVar[Block | None] = ContextVar("harness_gradient_collector", default=None)


def _task() -> Any:
    return asyncio.current_task() if _get_running_loop() is not None else None


class Block:
    """One ``with`` block of a collector: entering turns grad mode on, leaving brings back what was."""

    __slots__ = ("_blocks", "_outer", "_task", "_thread", "_was_on", "is_open", "place")

    place: str
    is_open: bool
    _was_on: bool

    def __init__(self) -> None:
        active = _active()
        if active is not None:
            raise GradientContextError(
                f"a gradient collector is active in this context already: it was entered at {active.place}, and is "
                "not left yet"
            )
        if torch.is_inference_mode_enabled():
            raise GradientContextError(
                "a gradient collector is entered under inference mode, where no graph is recorded even with gradients "
                "turned on",
                help="Leave torch.inference_mode() before; under torch.no_grad() the collector turns gradients on.",
            )
        self.place = _place()
        self.is_open = True
        self._thread = get_ident()
        self._task = _task()
        self._blocks = _THREAD.blocks
        self._was_on = torch.is_grad_enabled()
        self._outer = _ACTIVE.get()
        self._blocks.append(self)
        _ACTIVE.set(self)
        torch.set_grad_enabled(True)

    def leave(self) -> GradientContextError | None:
        """Restore; what is wrong, if anything is, is returned and not raised."""
        self.is_open = False
        if _ACTIVE.get() is self:
            _ACTIVE.set(self._outer)
        self._outer = self._task = None  # a copied context may keep this object for as long as it likes
        at = self._blocks.index(self)
        del self._blocks[at]
        if at < len(self._blocks):  # tasks that overlap: the one that ends last brings back what was before the first
            self._blocks[at]._was_on = self._was_on
        elif self._thread == get_ident():
            torch.set_grad_enabled(self._was_on)
        if self._thread == get_ident():
            return None
        return GradientContextError(
            f"the gradient collector entered at {self.place} is left in another thread: grad mode is a thread's own, "
            f"and that of the first is still on"
        )

    def is_here(self) -> bool:
        """Whether the block is open, and this thread and task are inside it. What another one entered is not entered
        here, though the context was copied from it; a block around a whole event loop is."""
        return self.is_open and self._thread == get_ident() and (self._task is None or self._task is _task())


def _active() -> Block | None:
    block = _ACTIVE.get()
    return block if block is not None and block.is_here() else None


def _place() -> str:
    """The innermost line of the user's own code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users_file(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown place"
