"""Places as SARIF's locations: a relative URI, the line, and the function and holder as names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from harness.render.escaped import cut
from harness.render.places import Place

__all__ = ["BASE", "location", "stack"]

BASE = "%SRCROOT%"
_LONGEST = 1000


def location(
    place: Place, *, id: int | None = None, message: str | None = None, holder: str | None = None
) -> dict[str, Any]:
    """*holder* is the chain of references as a logical location; *id* numbers a related one."""
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.path), "uriBaseId": BASE}}
    if place.line is not None:
        physical["region"] = {"startLine": place.line}
        if place.source:
            physical["region"]["snippet"] = {"text": cut(place.source, _LONGEST)}
    logical = []
    if place.function:
        logical.append({"name": cut(place.function, _LONGEST), "kind": "function"})
    if holder is not None:
        logical.append({"fullyQualifiedName": cut(holder, _LONGEST), "kind": "object"})
    return {
        **({} if id is None else {"id": id}),
        "physicalLocation": physical,
        **({"logicalLocations": logical} if logical else {}),
        **({} if message is None else {"message": {"text": message}}),
    }


def stack(message: str, places: Sequence[Place]) -> dict[str, Any]:
    """Who called whom, the innermost first."""
    return {"message": {"text": message}, "frames": [{"location": location(place)} for place in places]}


def _uri(path: str) -> str:
    # A first part with a colon would be read as a scheme; quote leaves none.
    return quote(path.encode("utf-8", "surrogatepass"))
