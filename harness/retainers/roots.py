"""Where references begin: modules, classes, frames, threads. The program's own first, so that paths start there."""

from __future__ import annotations

import logging
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from harness.model.holding import RootKind
from harness.retainers.safely import is_a, is_class, own, printable

_threads: Any
try:
    from harness.retainers._heapwalk import threads as _threads
except ImportError:
    _threads = None

__all__ = ["Root", "Roots", "gather_roots", "locals_of"]

_OPTIMIZED = 1
_MOST_FRAMES = 1000
_NUMBERED = re.compile(r"^(Thread-|ThreadPoolExecutor-\d+_)\d+")

_UNSHOWN = (
    "harness",
    "_pytest",
    "pytest",
    "pluggy",
    "bdb",
    "pdb",
    "IPython",
    "ipykernel",
    "debugpy",
    "pydevd",
    "_pydevd",
)
"""Ours, the test runner's and debuggers': what they refer to is no leak, and is gone with them."""


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """One beginning: what is shown of it, the object that the walk starts from, and how it was come by.

    ``name`` is what the object itself is called there, where it is no namespace (a frame's local). ``origin`` is an
    object that leads here outside Python's references (a tensor to its gradient) by an edge called ``via``."""

    kind: RootKind
    text: str
    thing: Any
    name: str = ""
    origin: Any = None
    via: str = ""


class Roots(msgspec.Struct, kw_only=True):
    """Roots in the order of their numbers, the phases that the walk takes them in, and what it must pass by."""

    flat: list[Root]
    phases: list[list[Any]]
    skipped: list[Any]


def gather_roots(is_users: Callable[[str], bool]) -> Roots:
    """All roots of this moment. *is_users* tells whether a source file is the program's own."""
    users, library, skipped = _modules(is_users)
    frames_users, frames_library = _frames(is_users)
    ordered: list[list[Root]] = [
        users,
        _classes(users),
        frames_users,
        _thread_states(),
        _loggers(),
        library,
        frames_library,
    ]
    flat = [root for phase in ordered for root in phase]
    phases = [[root.thing for root in phase] for phase in ordered]
    return Roots(flat=flat, phases=phases, skipped=[flat, ordered, *ordered, *skipped])


def locals_of(frame: types.FrameType) -> dict[str, Any]:
    """A frame's names. The copy that the frame itself keeps of them (before 3.13) is emptied: it would hold them."""
    names = frame.f_locals
    copied = dict(names)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & _OPTIMIZED:
        names.clear()
    return copied


def _modules(is_users: Callable[[str], bool]) -> tuple[list[Root], list[Root], list[Any]]:
    users: list[Root] = []
    library: list[Root] = []
    skipped: list[Any] = [sys.modules]
    for name, module in list(sys.modules.items()):
        if not is_a(module, types.ModuleType):
            continue
        namespace: Any = _namespace_of(module)
        path = namespace.get("__file__") or ""
        its_own = type(path) is str and path != "" and is_users(path)
        if not its_own and (name.partition(".")[0] in _UNSHOWN or _is_unshown_main(name, namespace)):
            skipped.append(namespace)
        elif its_own or (name == "__main__" and not path):
            users.append(Root(kind="module", text=f"module {printable(name)}", thing=namespace))
        elif name in ("sys", "builtins"):
            library.append(Root(kind="interpreter", text=name, thing=namespace))
        else:
            library.append(Root(kind="library", text=f"module {printable(name)}", thing=namespace))
    return users, library, skipped


_namespace_of: Any = vars(types.ModuleType)["__dict__"].__get__


def _is_unshown_main(name: str, namespace: dict[str, Any]) -> bool:
    spec = namespace.get("__spec__")
    origin = getattr(spec, "name", None) if type(spec).__name__ == "ModuleSpec" else None
    return name == "__main__" and type(origin) is str and origin.partition(".")[0] in _UNSHOWN


def _classes(users: list[Root]) -> list[Root]:
    """The classes that the program's own modules define: what hangs on them hangs on the program."""
    return [
        Root(kind="class", text=root.text, thing=value)
        for root in users
        for value in list(dict.values(root.thing))
        if is_class(value) and own(value).get("__module__") == root.thing.get("__name__")
    ]


def _frames(is_users: Callable[[str], bool]) -> tuple[list[Root], list[Root]]:
    """Locals of all running frames, of the program's own functions and of others'. Module-level frames are modules."""
    users: list[Root] = []
    library: list[Root] = []
    for thread, frame in _running_frames():
        code = frame.f_code
        if not code.co_flags & _OPTIMIZED:
            continue
        its_own = is_users(code.co_filename)
        if not its_own and _module_of(frame).partition(".")[0] in _UNSHOWN:
            continue
        where = f"{thread}{printable(code.co_qualname)}() at line {frame.f_lineno}"
        for name, value in locals_of(frame).items():
            if name.startswith("@"):  # pytest's rewritten asserts keep what they compare
                continue
            root = Root(kind="local", text=where, thing=value, name=f"local {printable(name)}")
            (users if its_own else library).append(root)
    return users, library


def _module_of(frame: types.FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name if type(name) is str else ""


def _running_frames() -> Iterator[tuple[str, types.FrameType]]:
    names = _thread_names()
    here = threading.get_ident()
    for ident, frame in sys._current_frames().items():
        thread = "" if ident == here else f"thread {names.get(ident, ident)}: "
        at: types.FrameType | None = frame
        for _ in range(_MOST_FRAMES):
            if at is None:
                break
            yield thread, at
            at = at.f_back


def _loggers() -> list[Root]:
    """The table of loggers, which nearly every module leads to: told as what a program calls to get one."""
    table = logging.root.manager.loggerDict
    return [Root(kind="library", text="logging.getLogger", thing=table)] if type(table) is dict else []


def _thread_names() -> dict[int | None, str]:
    """By identifier; the number in a name that nobody chose is left open: all such threads are told together."""
    return {t.ident: repr(_NUMBERED.sub(r"\1*", printable(t.name), count=1)) for t in threading.enumerate()}


def _thread_states() -> list[Root]:
    """What each thread has of its own: threading.local's dictionaries, and the values of context variables."""
    if _threads is None:
        return []
    names = _thread_names()
    found = []
    for ident, names_of_its_own, context in _threads():
        text = f"thread {names.get(ident, ident)}"
        if names_of_its_own is not None:
            found.append(Root(kind="thread", text=f"{text}, threading.local", thing=names_of_its_own))
        if context is not None:
            found.append(Root(kind="thread", text=f"{text}, context variables", thing=context))
    return found
