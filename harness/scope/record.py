"""What is known of one scope. Records are held strongly, by their parent's record; the scope that a user has is not."""

from __future__ import annotations

import itertools
import linecache
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any, Literal

from harness.ledger import current
from harness.ledger.protocol import Ledger
from harness.ledger.sites import is_users_file
from harness.model.allocation import Frame

__all__ = ["OPEN", "ROOT", "OnEscape", "Place", "Record", "here", "place_text", "places"]

OnEscape = Literal["report", "raise", "close"]
Place = tuple[tuple[CodeType, int], ...]
"""A few frames, innermost first, as code and instruction: their lines are looked up only when somebody asks."""

_DEPTH = 4
_numbers = itertools.count(1)


def here(skip: int, depth: int = _DEPTH) -> Place:
    """The stack above the caller, without its innermost *skip* frames."""
    found = []
    frame: FrameType | None = sys._getframe(skip + 1)
    while frame is not None and depth:
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
        depth -= 1
    return tuple(found)


def places(stack: Place) -> tuple[Frame, ...]:
    """The frames of the user's own code in *stack*."""
    found = []
    for code, instruction in stack:
        if is_users_file(code.co_filename):
            line = _line_of(code, instruction)
            source = linecache.getline(code.co_filename, line).strip() or None
            found.append(Frame(path=code.co_filename, line=line, function=code.co_qualname, source=source))
    return tuple(found)


def _line_of(code: CodeType, instruction: int) -> int:
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end and line is not None)
    return next(lines, code.co_firstlineno)


def place_text(stack: Place) -> str:
    """``train.py:12 in step``, or what stands for it where no frame is the user's."""
    frames = places(stack)
    if not frames:
        return "an unknown place"
    return f"{frames[0].path}:{frames[0].line} in {frames[0].function}"


class Record:
    """One scope's facts. ``members`` are what it closes, in the order in which they came: children's records, and
    things with an ``end(record)`` method. ``ledger`` is None until the scope is entered or owns something."""

    # Defaults are the class's: a record is made for each scope, and most scopes change few of them.
    state = "open"
    ledger: Ledger | None = None
    shares = False
    entered = 0
    closed_at: Place = ()
    closed_by: str | None = None
    closed_ns = 0
    crossed = False
    abandoned = False
    cap: str | None = None
    extra: dict[str, Any] | None = None

    def __init__(
        self, name: str, parent: Record | None, on_escape: OnEscape, budget: int | None, opened: Place
    ) -> None:
        self.number = number = next(_numbers) if parent is not None else 0
        self.name = name
        self.parent = parent
        self.stem: str = name if parent is None else f"{parent.stem}/{name}"
        self.path: str = self.stem if parent is None else f"{self.stem}#{number}"
        self.on_escape = on_escape
        self.budget = budget
        self.opened_at = opened
        self.opened_ns = time.monotonic_ns()
        self.lock = threading.RLock()
        self.children: dict[int, Record] = {}
        self.members: dict[int, Any] = {}
        self.offenders: list[Any] = []
        self.kept: list[BaseException] = []

    def attach(self) -> Ledger:
        """The ledger that this scope books in; the running one, or one that is started for it."""
        ledger = self.ledger
        if ledger is None:
            parent = self.parent
            ledger = parent.attach() if parent is not None and parent.number else current.running()
            if ledger is None or ledger is current.shared():
                ledger = current.share()
                self.shares = True
            if parent is not None:
                ledger.define_scope(self.number, parent.number, name=self.path, budget_bytes=self.budget)
            self.ledger = ledger
        return ledger

    def detach(self) -> None:
        """Let go of the ledger, after closing."""
        ledger, self.ledger = self.ledger, None
        if ledger is not None:
            ledger.forget_scope(self.number)
            if self.shares:
                self.shares = False
                current.unshare()

    def more(self) -> dict[str, Any]:
        """Room for what few scopes have."""
        if self.extra is None:
            self.extra = {}
        return self.extra

    def nearest_open(self) -> Record:
        """This scope, or the nearest ancestor that is open."""
        at = self
        while at.state != "open" and at.parent is not None:
            at = at.parent
        return at

    def is_below(self, other: Record) -> bool:
        at: Record | None = self
        while at is not None and at is not other:
            at = at.parent
        return at is not None


ROOT = Record("root", None, "report", None, ())
"""The scope of everything that no scope owns. It is always open."""

OPEN: dict[int, Record] = {0: ROOT}
"""The open scopes by their numbers, in the order in which they were opened."""
