"""Sites: where storages come from, as user frames, each kept once."""

from __future__ import annotations

import linecache
import os
import site as python_site
import sysconfig
from types import FrameType

from harness.model.allocation import Frame

__all__ = ["PREFIXES", "SiteTable", "is_users_file"]

_MOST_SITES = 4096
_MOST_FRAMES_WALKED = 64

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_SCENARIOS = _OURS + "scenarios" + os.sep


def _library_folders() -> tuple[str, ...]:
    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), sysconfig.get_path("purelib")}
    folders.update((sysconfig.get_path("platlib"), *python_site.getsitepackages()))
    return tuple(sorted(f + os.sep for f in folders if f))


_LIBRARY = _library_folders()

_PACKAGES = ("/site-packages/", "/dist-packages/")
"""Anywhere in a path: an environment may see another one's packages, and then they are in no folder of its own."""

PREFIXES = ((_SCENARIOS, True), (_OURS, False), *((folder, False) for folder in _LIBRARY))
"""Beginnings of absolute paths, and whether they are the user's; the first that fits decides (the native ledger judges
by these, and by ``_PACKAGES``)."""


def is_users_file(path: str) -> bool:
    """Whether code in *path* is the user's own: not ours (the bundled scenarios count as the user's), not torch's, not
    the standard library's, not site-packages'. Generated code ("<string>") is."""
    if path.startswith("<frozen"):
        return False
    absolute = os.path.abspath(path) if not path.startswith("<") else path
    for prefix, is_users in PREFIXES:
        if absolute.startswith(prefix):
            return is_users
    return absolute.startswith("<") or not any(folder in absolute for folder in _PACKAGES)


class SiteTable:
    """Numbers for stacks. A user frame is one that is neither ours, torch's, the standard library's nor site-packages'.

    Keys hold file names and function names, never code objects: a program that compiles a function a step would
    otherwise be kept alive by the very tool that looks for its leak.
    """

    def __init__(self, *, depth: int) -> None:
        self._depth = depth
        self._numbers: dict[tuple[object, ...], int] = {}
        self._stacks: list[tuple[str, tuple[tuple[str, int, str], ...]]] = [("(more sites than are kept)", ())]
        self._is_user: dict[str, bool] = {}

    def number_of(self, operator: str, frame: FrameType | None) -> int:
        """The site of an allocation by *operator* under *frame* (the caller's); 0 when the table is full."""
        stack = self._user_stack(frame)
        key = (operator, *stack)
        number = self._numbers.get(key)
        if number is None:
            if len(self._stacks) > _MOST_SITES:
                return 0
            number = self._numbers[key] = len(self._stacks)
            self._stacks.append((operator, stack))
        return number

    def frames(self, number: int) -> tuple[str, tuple[Frame, ...]]:
        """The operator and the frames, innermost first, with source lines where the files are to be had."""
        operator, stack = self._stacks[number]
        return operator, tuple(
            Frame(path=path, line=line, function=function, source=linecache.getline(path, line).strip() or None)
            for path, line, function in stack
        )

    def _user_stack(self, frame: FrameType | None) -> tuple[tuple[str, int, str], ...]:
        found: list[tuple[str, int, str]] = []
        for _ in range(_MOST_FRAMES_WALKED):
            if frame is None or len(found) == self._depth:
                break
            code = frame.f_code
            if self._user(code.co_filename):
                found.append((code.co_filename, frame.f_lineno, code.co_qualname))
            frame = frame.f_back
        return tuple(found)

    def _user(self, path: str) -> bool:
        known = self._is_user.get(path)
        if known is None:
            known = self._is_user[path] = is_users_file(path)
        return known
