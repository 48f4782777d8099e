"""What no root leads to and is alive all the same: held by C or C++ code, by a surplus reference, or in a cycle."""

from __future__ import annotations

import functools
import gc
import types
from typing import Any

from harness.model.holding import RootKind
from harness.retainers.heap_walk import Walk
from harness.retainers.roots import Root
from harness.retainers.safely import is_a, is_class, is_exactly, named, own

__all__ = ["enter_unreached"]

_CALLBACKS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


def enter_unreached(walk: Walk, roots: list[Root], ours: set[int], callbacks: str, collected: bool) -> None:
    """Let *walk* go on from what nothing refers to among the unreached objects, then from the rest: cycles. Adds to
    *roots* how each was come by. *ours* are identities of objects that this very look made, *callbacks*
    is who keeps functions and methods, as far as one knows.

    A cycle that is still there after a collection was put beyond the collector (gc.freeze), or goes through C++."""
    # Running frames, ours among them, are no holders here, and would keep their locals once they have returned.
    everything = [o for o in gc.get_objects() if type(o) is not types.FrameType]
    _enter_ours(walk, roots, [o for o in everything if _is_ours(type(o))])
    alone = [o for o in everything if o not in walk and id(o) not in ours and o is not roots]
    del everything
    known = {id(o) for o in alone}
    referred = {id(child) for thing in alone for child in gc.get_referents(thing) if id(child) in known}
    _enter(walk, roots, [o for o in alone if id(o) not in referred and not is_class(o)], callbacks)
    rest = [o for o in alone if o not in walk and not is_class(o)]
    what = "a cycle that no collection frees" if collected else "an uncollected cycle"
    for thing in sorted(rest, key=lambda o: _preference(type(o))):
        if thing not in walk:
            first = len(roots)
            roots.append(Root(kind="cycle", text=what, thing=thing, name=_called(thing)))
            walk.enter([thing], first)


def _enter_ours(walk: Walk, roots: list[Root], things: list[Any]) -> None:
    """What only our own objects lead to is no part of the program."""
    first = len(roots)
    roots += [Root(kind="ours", text="harness", thing=thing) for thing in things]
    walk.enter(things, first)


def _enter(walk: Walk, roots: list[Root], things: list[Any], callbacks: str) -> None:
    first = len(roots)
    for thing in things:
        kind, text = _holder_of(thing, callbacks)
        roots.append(Root(kind=kind, text=text, thing=thing, name=_called(thing)))
    walk.enter(things, first)


def _holder_of(thing: Any, callbacks: str) -> tuple[RootKind, str]:
    """Who may have it, as no Python object does: told by what it is."""
    if is_a(thing, *_CALLBACKS) or (callbacks.startswith("atexit") and is_exactly(thing, tuple, dict)):
        return "native", callbacks  # functions, and the arguments that they will be called with
    if named(type(thing)).endswith("iterator") or type(thing).__module__ == "itertools":
        return "native", "a loop that is running"
    if _is_tensor(thing) and thing._use_count() > 1:
        return "native", "C++ code"
    module = own(type(thing)).get("__module__")
    if type(module) is str and module.partition(".")[0] == "torch" and not _is_tensor(thing):
        return "native", "C++ code"
    return "surplus", "a reference that nothing accounts for"


def _is_tensor(thing: Any) -> bool:
    import torch

    return is_a(thing, torch._C.TensorBase)


def _called(thing: Any) -> str:
    return f"function {thing.__qualname__}" if type(thing) is types.FunctionType else named(type(thing))


def _is_ours(kind: type) -> bool:
    module = own(kind).get("__module__")
    return type(module) is str and module.partition(".")[0] == "harness"


def _preference(kind: type) -> int:
    """In a cycle every object leads to all: the program's own classes make the clearest beginning, then code."""
    module = own(kind).get("__module__")
    if type(module) is str and module.partition(".")[0] not in ("builtins", "types", "collections", "torch"):
        return 0
    return 1 if named(kind) in ("function", "generator", "coroutine", "traceback", "frame") else 2
