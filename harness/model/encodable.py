"""Text from outside that UTF-8 cannot hold: half a character from a file's name, or from what a program says."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["encodable", "without_surrogates"]


def without_surrogates(text: str) -> str:
    """*text* with each lone surrogate written as an escape (``\\udcff``), so that it can be encoded."""
    return text.encode(errors="backslashreplace").decode()


def encodable(value: Any) -> Any:
    """*value*, a message or a document, as plain lists and dicts in which all text can be encoded."""
    return _mended(msgspec.to_builtins(value))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mended(item) for item in value]
    return value
