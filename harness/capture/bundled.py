"""The scenarios that come with the package: where they lie, and what their names lead to."""

from __future__ import annotations

import difflib
import importlib.util
import os
from pathlib import Path

__all__ = ["bundled_folder", "bundled_path", "near_names"]


def bundled_folder() -> Path:
    """Where the bundled scenarios lie: in a wheel and an editable install the package ``harness.scenarios``; in a
    source tree that nobody installed, the folder beside the package. It is found, never imported."""
    spec = importlib.util.find_spec("harness.scenarios")
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(__file__).resolve().parents[2] / "scenarios"


def bundled_path(name: str, folder: Path) -> str | None:
    """The file in *folder* that ``held_reference`` or ``scenarios/held_reference.py`` (as reports show it) means,
    from any working directory; None where there is none."""
    stem = name.removeprefix("scenarios/").removesuffix(".py")
    candidate = os.path.join(folder, f"{stem}.py")
    return candidate if stem.isidentifier() and os.path.isfile(candidate) else None


def near_names(path: str, folder: Path) -> tuple[str, ...]:
    """Up to three names close to *path*: of scenarios in *folder*, or of Python files where *path* would lie."""
    parent = os.path.dirname(path)
    try:
        around = [os.path.join(parent, name) for name in sorted(os.listdir(parent or ".")) if name.endswith(".py")]
    except (OSError, ValueError):
        around = []
    names = sorted(file.stem for file in folder.glob("[!_]*.py"))
    return tuple(difflib.get_close_matches(path, [*names, *around], n=3, cutoff=0.6))
