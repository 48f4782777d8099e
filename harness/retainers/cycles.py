"""The shortest way from an object back to itself."""

from __future__ import annotations

import gc
import types
from typing import Any

from harness.retainers.edges import links_of
from harness.retainers.roots import Root
from harness.retainers.safely import is_class

__all__ = ["way_round"]

_MOST_OBJECTS = 2000


def way_round(thing: Any) -> str:
    """ " (child: Leaf > parent)": the shortest way from *thing* back to itself; nothing where it goes through C++."""
    came_from: dict[int, tuple[Any, Any]] = {}
    queue = [thing]
    at = 0
    while at < len(queue):
        one = queue[at]
        at += 1
        for child in gc.get_referents(one):
            if child is thing:
                chain = [thing, one]
                while chain[-1] is not thing:
                    chain.append(came_from[id(chain[-1])][1])
                links, _ = links_of(Root(kind="cycle", text="", thing=thing), [*reversed(chain[1:]), thing], set())
                return f" ({' > '.join(link.text for link in links)})" if len(chain) > 1 else ""
            if (
                len(queue) < _MOST_OBJECTS
                and id(child) not in came_from
                and gc.is_tracked(child)
                and not is_class(child)
                and not _leads_out(child)
            ):
                came_from[id(child)] = (child, one)
                queue.append(child)
    return ""


def _leads_out(thing: Any) -> bool:
    return type(thing) is types.ModuleType or (type(thing) is dict and "__builtins__" in thing)
