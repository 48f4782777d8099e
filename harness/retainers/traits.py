"""What an object is, where that matters for the cause of a leak: told by its type, never by asking it."""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

from harness.model.holding import Trait
from harness.retainers.safely import mro_of, qualified

__all__ = ["CACHE", "trait_of"]

CACHE: Any = type(functools.lru_cache(lambda: None))
"""The type of what functools.lru_cache makes."""


def trait_of(thing: Any) -> Trait:
    """What *thing* is, where that matters for the cause of a leak."""
    kind = type(thing)
    found = _TRAITS.get(id(kind))
    if found is not None:
        return found
    for base in mro_of(kind):
        name = qualified(base)
        known = _TRAITS_BY_NAME.get(name)
        if known is not None:
            return known
        if name.startswith(_COMPILED):
            return "compiled"
    return ""


_TRAITS: dict[int, Trait] = {
    id(types.TracebackType): "traceback",
    id(types.FrameType): "frame",
    id(types.GeneratorType): "generator",
    id(types.CoroutineType): "coroutine",
    id(types.AsyncGeneratorType): "coroutine",
    id(weakref.finalize): "finalizer",
    id(CACHE): "cache",
}
"""By the type's identity, here and below: a class may have a metaclass that raises when it is hashed."""

_TRAITS_BY_NAME: dict[str, Trait] = {
    "torch.TensorBase": "tensor",
    "torch._C.TensorBase": "tensor",
    "torch.optim.optimizer.Optimizer": "optimizer",
    "_asyncio.Task": "task",
    "_asyncio.Future": "task",
    "asyncio.tasks.Task": "task",
    "threading.Thread": "thread",
    "torch._C._FunctionBase": "node",
    "numpy.ndarray": "array",
}
_COMPILED = ("torch._dynamo.", "torch._inductor.", "torch._functorch.", "torch.fx.", "torch.jit.", "torch._C.Graph",
             "torch._C.ScriptFunction", "torch._C.ScriptModule", "torch.ScriptFunction", "torch._guards.",
             "torch.fx.graph_module.")  # fmt: skip
