"""A finding's identity across runs, machines and unrelated edits."""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.model.allocation import Frame

__all__ = ["fingerprint"]

_ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


def fingerprint(cause: str, scenario_path: str, frame: Frame | None, metric: str) -> str:
    """16 hexadecimal digits from the cause, the file (from the project's root), the function, and the source line
    without its number: it survives edits elsewhere, other machines and other working directories."""
    path = frame.path if frame is not None else scenario_path
    where = (frame.function, frame.source or "") if frame is not None else (metric, "")
    text = "\n".join((cause, _from_project_root(path), *where))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _from_project_root(path: str) -> str:
    resolved = Path(path)
    for folder in resolved.parents:
        if any((folder / mark).exists() for mark in _ROOT_MARKS):
            return resolved.relative_to(folder).as_posix()
    return resolved.name
