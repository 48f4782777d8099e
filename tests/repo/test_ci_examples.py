"""The examples for CI are what this version understands: each command in them runs, and makes the file it names."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness import pipeline
from harness.cli.main import main
from tests.repo.source_tree import ROOT
from tests.report_builder import a_leak
from tests.unit.cli.fake_pipeline import FakePipeline

EXAMPLES = ("examples/ci/github-workflow.yml", "examples/ci/gitlab-ci.yml")
FILES = (*EXAMPLES, ".pre-commit-hooks.yaml")


def commands(name: str) -> list[str]:
    """Every line of the file that calls the harness, as a shell would get it."""
    found = re.findall(r"^(?: *- | *run: | +)?(harness (?:run|report) .*)$", (ROOT / name).read_text(), re.MULTILINE)
    assert found, f"{name} calls nothing"
    return found


def call(command: str, capsys: pytest.CaptureFixture[str]) -> int:
    """What the shell does with *command*: runs it, and sends what it prints where it says."""
    line, _, target = command.partition(" > ")
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(line)[1:])
    if target:
        Path(target).write_text(capsys.readouterr().out, encoding="utf-8")
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one scenario, that leaks; measuring is faked, since it is not what an example can get wrong."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "train.py").write_text("def step(i): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "run_scenarios", FakePipeline(a_leak(path="memory/train.py")))
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_yaml_of_the_plain_kind(name: str) -> None:
    # No YAML parser is among the dependencies: what a mistake usually is, can be seen without one.
    text = (ROOT / name).read_text()
    inside_block = False

    assert "\t" not in text
    for line in text.splitlines():
        bare = line.split(" #")[0].rstrip()
        if not bare or bare.startswith("#"):
            continue
        indent = len(bare) - len(bare.lstrip())
        assert indent % 2 == 0, line
        is_entry = re.match(r" *(- )?([\w-]+:( .+)?|[\w./-]+|- .+)$", bare)
        assert is_entry or inside_block, line
        inside_block = bare.endswith("|") or (inside_block and not re.match(r" *(- )?[\w-]+:", bare))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_command_of_an_example_runs_and_the_first_fails_on_a_leak(
    name: str, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = project / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    codes = [call(command, capsys) for command in commands(name)]

    assert codes == [1] + [0] * (len(codes) - 1)
    assert ElementTree.parse(project / "memory-junit.xml").getroot().get("failures") == "1"
    if "github" in name:
        assert summary.read_text().startswith("### ✗ Memory: 0 of 1 as expected")
        assert json.loads((project / "memory.sarif").read_text())["version"] == "2.1.0"
        assert json.loads((project / "memory-figures.json").read_text())[0]["value"] == 1
    else:
        assert not summary.exists()
        assert (project / "metrics.txt").read_text().endswith("# EOF\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_file_that_an_example_takes_up_is_one_that_it_makes(name: str) -> None:
    made = {"memory-run", *(command.partition(" > ")[2] for command in commands(name))} - {""}

    taken = re.findall(
        r"(?:sarif_file|junit|metrics): (\S+)|^ +(?:- )?(memory-\S+|metrics\S+)$", text(name), re.MULTILINE
    )

    assert {one or other for one, other in taken} <= made
    assert made <= {one or other for one, other in taken}


def text(name: str) -> str:
    return (ROOT / name).read_text()


def test_the_hook_runs_the_folder_that_it_names_and_fails_on_a_leak(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hook: dict[str, Any] = dict(re.findall(r"^  (?:- )?([a-z_]+): (.*)$", text(".pre-commit-hooks.yaml"), re.MULTILINE))
    arguments = hook["args"].strip("[]").split(", ")

    assert call(" ".join([hook["entry"], *arguments]), capsys) == 1
    assert {"name", "description", "entry", "language", "stages"} <= hook.keys()
    assert hook["pass_filenames"] == "false"
