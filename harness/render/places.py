"""Where a finding is, as a path in the repository: never absolute, and never of a file that is not in it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

import msgspec

from harness.model.allocation import Frame
from harness.model.report import Finding, RunReport

__all__ = ["Place", "main_place", "places_of", "roots_of", "run_place"]

_LONGEST_PATH = 4096  # Linux's PATH_MAX: no file has a longer one
_LONGEST_NAME = 255
_NOT_OURS = ("site-packages", "dist-packages")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A file from the root of the repository (``/`` between its parts), and a line of it; None: the file as a whole."""

    path: str
    line: int | None = None
    function: str = ""
    source: str | None = None


def main_place(finding: Finding, run: RunReport) -> Place:
    """Where a reader looks first: the innermost line of the repository that allocates, else the one that keeps, else
    the scenario's file."""
    found = [*places_of(finding.allocated_at, run), *places_of(finding.retained_at, run)]
    return found[0] if found else run_place(run)


def run_place(run: RunReport) -> Place:
    """The scenario's own file; by its name alone where it lies outside the folder that the tool ran in."""
    return Place(path=_inside(run.path) or posixpath.basename(run.path)[-_LONGEST_NAME:] or "unknown")


def places_of(frames: Iterable[Frame], run: RunReport) -> tuple[Place, ...]:
    """Those of *frames* that are lines of the repository, in the same order."""
    roots = tuple(roots_of(run))
    found = []
    for frame in frames:
        path = _from_root(frame.path, roots)
        if path is None and frame.path == f"/{run.path}":
            path = _inside(run.path)
        if path is not None:
            line = frame.line if frame.line > 0 else None
            found.append(Place(path=path, line=line, function=frame.function, source=frame.source))
    return tuple(found)


def roots_of(run: RunReport) -> Iterator[str]:
    """The folder that the tool ran in, with a slash: what stands before the scenario's path in frames of its file."""
    if _inside(run.path) is None:
        return
    for finding in run.findings:
        for frame in (*finding.allocated_at, *finding.retained_at):
            root = frame.path.removesuffix(run.path)
            # From / the whole machine would be the repository.
            if root != frame.path and root.startswith("/") and root.endswith("/") and root != "/":
                yield root


def _from_root(path: str, roots: tuple[str, ...]) -> str | None:
    if not path.startswith("/"):
        return _inside(path)
    return next((_inside(path.removeprefix(root)) for root in roots if path.startswith(root)), None)


def _inside(path: str) -> str | None:
    """*path* made plain where it leads into the repository; None for what is above it, or is installed in it."""
    if len(path) > _LONGEST_PATH:
        return None
    plain = posixpath.normpath(path)
    parts = plain.split("/")
    if plain.startswith(("/", "<")) or parts[0] in ("..", "."):
        return None
    return None if any(part in _NOT_OURS for part in parts) else plain
