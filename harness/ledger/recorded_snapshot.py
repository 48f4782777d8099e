"""Reads a saved snapshot of an accelerator's allocator: torch's own pickle, without running what is in it."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from harness.errors import UsageError

__all__ = ["read_snapshot"]

_MOST_BYTES = 2 << 30
_HELP = "Make it with torch.cuda.memory._dump_snapshot(path), or save its dictionary as JSON."


class _PlainUnpickler(pickle.Unpickler):
    """Numbers, texts, lists and dictionaries, and nothing else: a pickle that names a class or function is refused."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it would load {module}.{name}, and a snapshot needs no code")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it refers to something outside of it")


def read_snapshot(path: Path) -> Mapping[str, Any]:
    """The snapshot's dictionary. :class:`UsageError` for a file that is none, or that tries to bring code."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path} is larger than 2 GiB", help=_HELP)
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", help=_HELP) from error
    try:
        found = json.loads(data) if data[:1] == b"{" else _PlainUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # a broken pickle raises nearly anything
        raise UsageError(f"{path} is no snapshot: {error}", help=_HELP) from error
    if not isinstance(found, dict) or "segments" not in found:
        raise UsageError(f"{path} is no snapshot: there are no segments in it", help=_HELP)
    return found
