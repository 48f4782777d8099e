"""Looking at objects without running any of their program's code.

``isinstance`` asks ``__class__``, ``getattr`` asks ``__getattr__``, ``==`` asks ``__eq__``: any of them may raise, lie,
block, or change what is looked at. What is read here is read through the descriptors of the built-in types.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

__all__ = [
    "attributes",
    "dict_items",
    "instance_dict",
    "is_a",
    "is_class",
    "is_exactly",
    "mro_of",
    "named",
    "own",
    "qualified",
    "shown_key",
]

_mro: Any = type.__dict__["__mro__"].__get__
_namespace: Any = type.__dict__["__dict__"].__get__
_name: Any = type.__dict__["__name__"].__get__
_module: Any = type.__dict__["__module__"].__get__
_qualname: Any = type.__dict__["__qualname__"].__get__

_LONGEST = 60


def mro_of(kind: type) -> tuple[type, ...]:
    """The classes that *kind* is made of, itself first."""
    found: tuple[type, ...] = _mro(kind)
    return found


def is_a(thing: object, *kinds: type) -> bool:
    """Whether *thing* truly is an instance of one of *kinds*, whatever its ``__class__`` says."""
    mro = mro_of(type(thing))
    return any(base is kind for base in mro for kind in kinds)


def is_exactly(thing: object, *kinds: type) -> bool:
    """Whether the type of *thing* is one of *kinds*: by identity, for a metaclass may define ``==`` and ``hash``."""
    return any(type(thing) is kind for kind in kinds)


def is_class(thing: object) -> bool:
    """Whether *thing* truly is a class."""
    return is_a(thing, type)


def own(kind: type) -> dict[str, Any]:
    """A class's own namespace (a read-only view)."""
    found: dict[str, Any] = _namespace(kind)
    return found


def named(kind: type) -> str:
    """The class's name, fit to be shown."""
    return printable(str(_name(kind)))


def qualified(kind: type) -> str:
    """``package.module.Class``; the module is left out where the class does not say it as text."""
    name = printable(str(_qualname(kind)))
    try:
        module = _module(kind)
    except AttributeError:
        module = None
    return name if type(module) is not str or module == "builtins" else f"{printable(module)}.{name}"


def printable(text: str) -> str:
    """*text* on one line, without control characters or marks that turn the writing round; at most 60 characters."""
    clean = text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 3]}..."


def instance_dict(thing: object) -> dict[Any, Any] | None:
    """The dictionary of *thing*'s attributes, by the interpreter's own descriptor; None where it has none."""
    for base in mro_of(type(thing)):
        descriptor = own(base).get("__dict__")
        if type(descriptor) is types.GetSetDescriptorType:
            try:
                found = descriptor.__get__(thing)
            except (TypeError, AttributeError, RuntimeError):
                return None
            return found if type(found) is dict else None
    return None


def attributes(thing: object) -> Iterator[tuple[str, Any]]:
    """Names and values of *thing*'s own attributes, in its dictionary and in its slots."""
    for name, value in dict_items(instance_dict(thing) or {}):
        if type(name) is str:
            yield name, value
    for base in mro_of(type(thing)):
        for name, descriptor in list(own(base).items()):
            if type(descriptor) is types.MemberDescriptorType:
                try:
                    yield name, descriptor.__get__(thing)
                except (AttributeError, TypeError):
                    continue


def dict_items(mapping: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """All items as they are at this moment, by ``dict``'s own method."""
    return list(dict.items(mapping))


def shown_key(key: object) -> str:
    """A key as a person would write it: ``'loss'``, ``3``, or its type's name where it is no plain value."""
    if key is None or is_exactly(key, bool, int, float):
        return repr(key)
    if type(key) is str:
        return repr(printable(key))
    if type(key) is bytes:
        return printable(repr(key[:_LONGEST]))
    if type(key) is tuple and len(key) <= 4 and all(k is None or is_exactly(k, bool, int, float, str) for k in key):
        return "(" + ", ".join(shown_key(k) for k in key) + ")"
    if is_a(key, type):
        assert isinstance(key, type)
        return named(key)
    return f"<{named(type(key))}>"
