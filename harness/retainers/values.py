"""Texts and bytes under a module's names that get longer: each is a new object, so that no container grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from harness.model.holding import Cut, GrownContainer, HolderPath, Link
from harness.retainers.roots import Root
from harness.retainers.safely import dict_items, is_exactly, printable

__all__ = ["grown_values", "value_sizes"]

Sizes = dict[tuple[str, str], int]


def value_sizes(roots: Iterable[Root]) -> Sizes:
    """The length of each text and bytes object, by module and name."""
    return {(root.text, name): len(value) for root, name, value in _values(roots)}


def grown_values(before: Sizes, roots: Iterable[Root], *, steps: int, least: int) -> Iterator[GrownContainer]:
    """Those that are longer by *least* or more."""
    for root, name, value in _values(roots):
        then, now = before.get((root.text, name)), len(value)
        if then is None or now - then < least:
            continue
        link = Link(
            text=f"{printable(name)}: {type(value).__name__}", name=printable(name), kind=type(value).__name__,
            cut=Cut(kind="attribute", name=name),
        )  # fmt: skip
        path = HolderPath(root=root.text, root_kind=root.kind, links=(link,), suspect=0, grew=(then, now))
        each = max(1, round(value.__sizeof__() / max(1, now)))  # a str or bytes itself: no method of the program's
        element = "character" if type(value) is str else "byte"
        yield GrownContainer(path=path, size_then=then, size_now=now, steps=steps, element=element, element_bytes=each)


def _values(roots: Iterable[Root]) -> Iterator[tuple[Root, str, Any]]:
    for root in roots:
        if root.kind == "module":
            for name, value in dict_items(root.thing):
                if type(name) is str and is_exactly(value, str, bytes):
                    yield root, name, value
