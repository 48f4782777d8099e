"""Rules that no linter knows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo.source_tree import ROOT, imports_of, modules_below


def committed_texts() -> Iterator[tuple[str, str]]:
    """Path from the root, and text, of every file that git follows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: there is no list of committed files")
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file():
            yield name, path.read_text(encoding="utf-8", errors="replace")


def test_nothing_in_the_package_uses_tracemalloc() -> None:
    # It slows a program fivefold and sees nothing that torch allocates: memray is the one source of native stacks.
    users = [
        module
        for module, path in modules_below(ROOT / "harness").items()
        if any(found.name.split(".")[0] == "tracemalloc" for found in imports_of(path))
        or "tracemalloc" in path.read_text()
    ]

    assert users == []


def test_no_committed_file_names_a_folder_of_this_machine() -> None:
    folders = {str(ROOT), str(Path.home())} - {"/"}
    here = re.compile("|".join(rf"(?<![\w./-]){re.escape(folder)}(?![\w-])" for folder in sorted(folders)))

    assert [name for name, text in committed_texts() if here.search(text)] == []


def test_nothing_committed_is_left_to_be_done() -> None:
    marker = re.compile(rf"\b({'TO' + 'DO'}|{'FIX' + 'ME'}|{'XX' + 'X'})\b")  # this file has none of them either

    assert [name for name, text in committed_texts() if marker.search(text)] == []


def test_nothing_has_a_name_that_says_nothing() -> None:
    vague = {"utils", "util", "common", "helpers", "helper", "misc"}
    parts = {part for module in modules_below(ROOT / "harness") for part in module.split(".")}

    assert parts & vague == set()
