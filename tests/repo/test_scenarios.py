"""The bundled scenarios teach: each has its lesson, both halves, and literals that tools can read."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from harness.capture.scenario_source import SourceLook, look
from tests.repo.scenario_table import HEADING, said
from tests.repo.source_tree import ROOT, imports_of, scenario_files

HEADINGS = ("Symptom:", "Why:", "How it shows:", "Fix:")

every_scenario = pytest.mark.parametrize("path", scenario_files(), ids=lambda path: path.stem)


def seen(path: Path) -> SourceLook:
    return look(path.read_bytes())


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_bytes())) or ""


def test_there_are_bundled_scenarios() -> None:
    assert len(scenario_files()) >= 8


@every_scenario
def test_the_docstring_has_the_pitfalls_id_and_the_four_headings_in_order(path: Path) -> None:
    text = docstring(path)

    assert re.match(r"[A-D]\d+[:, ]", text)
    assert [line.split(":")[0] + ":" for line in text.splitlines() if line.startswith(HEADINGS)] == list(HEADINGS)


@every_scenario
def test_both_halves_are_there(path: Path) -> None:
    assert seen(path).variants == ("step", "fixed_step")


@every_scenario
def test_the_file_is_short_enough_to_read_at_once(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 80


@every_scenario
def test_one_thread_so_that_figures_can_be_compared(path: Path) -> None:
    assert "torch.set_num_threads(1)\n" in path.read_text()


@every_scenario
def test_the_file_imports_from_harness_only_what_is_public(path: Path) -> None:
    import harness

    ours = {found.name.removeprefix("harness.") for found in imports_of(path) if found.name.startswith("harness")}

    assert ours <= set(harness.__all__)


def test_what_a_look_at_the_source_tells_is_what_the_file_says_when_it_is_run() -> None:
    program = """
import importlib.util, json, msgspec, sys
said = {}
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("scenario", path)
    module = sys.modules["scenario"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    said[path] = msgspec.to_builtins(module.SCENARIO)
print(json.dumps(said))
"""
    paths = [str(path) for path in scenario_files()]
    done = subprocess.run([sys.executable, "-c", program, *paths], cwd=ROOT, capture_output=True, text=True, check=True)

    said = json.loads(done.stdout)

    for path in scenario_files():
        told = seen(path)
        run = said[str(path)]
        assert (told.title, list(told.tags)) == (run["title"], run["tags"])
        assert msgspec.to_builtins(told.expected) == run["expect"]
        assert run["pitfall"], path.name
        assert run["fix"], path.name


def test_the_table_in_the_readme_is_the_folder() -> None:
    # What was found is a machine's own; it is made by the command that stands beside the table.
    readme = (ROOT / "README.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in readme.splitlines() if line.startswith("| [")]

    assert HEADING in readme
    assert [(link, pitfall, expected, title) for link, pitfall, expected, _, title in rows] == [
        said(path) for path in scenario_files()
    ]
    assert all(found for _, _, _, found, _ in rows)
