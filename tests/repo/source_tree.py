"""The repository as its own tests see it: which modules there are, and what each imports, read and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ["ROOT", "Import", "imports_of", "modules_below", "scenario_files"]

ROOT = Path(__file__).resolve().parents[2]


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """One name that a file imports, dotted and absolute, and the line that does it."""

    name: str
    line: int


def modules_below(package: Path) -> dict[str, Path]:
    """Dotted name to file, for every Python file of the package in folder *package* (a package by its own name)."""
    found: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path) -> Iterator[Import]:
    """Every import in the file, those inside functions and under ``TYPE_CHECKING`` among them.

    ``from a import b`` gives ``a.b``: whether b is a module or a name in a is for the caller to say.
    """
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name=alias.name, line=node.lineno)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import(name=f"{'.' * node.level}{node.module or ''}.{alias.name}", line=node.lineno)


def scenario_files() -> tuple[Path, ...]:
    """The bundled scenarios, in the order in which ``harness run`` takes them."""
    return tuple(sorted((ROOT / "scenarios").glob("[!_]*.py")))
