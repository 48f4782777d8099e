"""A real leak, measured once: each format for CI leads to the line in the repository that makes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.repo.source_tree import ROOT

APP = """\
import torch

history = []


def work(i):
    x = torch.ones(64, 64)
    history.append(x)
"""
SCENARIO = """\
import torch

import app

torch.set_num_threads(1)


def step(i):
    app.work(i)
"""


def harness(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(cwd / "summary.md")}
    command = [sys.executable, "-m", "harness.cli.main", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, check=False, encoding="utf-8"
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose scenario calls a module beside it, measured and kept in run/; first.txt is what it printed."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "memory").mkdir()
    (folder / "memory" / "app.py").write_text(APP)
    (folder / "memory" / "train.py").write_text(SCENARIO)
    done = harness("run", "memory/train.py", "--format", "github", "--out", "run", cwd=folder)
    assert done.returncode == 1, done.stderr
    (folder / "first.txt").write_text(done.stdout)
    return folder


def test_the_annotation_stands_at_the_line_that_allocates(project: Path) -> None:
    first = (project / "first.txt").read_text()

    assert first.startswith("::error file=memory/app.py,line=7,title=train · step%3A leak (held_reference)")
    assert "held by module app > history: list > [*]" in first


def test_the_summary_of_the_job_names_no_folder_of_the_machine(project: Path) -> None:
    summary = (project / "summary.md").read_text()

    assert "| ✗ | train · step | leak | stable | 16." in summary
    assert "`memory/app.py:7`" in summary
    assert str(project) not in summary


def test_code_scanning_gets_the_line_that_allocates_and_the_line_that_keeps(project: Path) -> None:
    (result,) = json.loads(harness("report", "run", "--format", "sarif", cwd=project).stdout)["runs"][0]["results"]

    def places(locations: list[dict[str, Any]]) -> list[tuple[str, int]]:
        physical = [location["physicalLocation"] for location in locations]
        return [(p["artifactLocation"]["uri"], p["region"]["startLine"]) for p in physical]

    assert result["ruleId"] == "held_reference"
    assert places(result["locations"]) == [("memory/app.py", 7)]
    assert places(result["relatedLocations"]) == [("memory/app.py", 7), ("memory/app.py", 8)]
    assert result["properties"]["tensor_bytes_per_step"] == 16384


def test_the_test_page_and_the_figures_have_the_same_bytes_a_step(project: Path) -> None:
    junit = ElementTree.fromstring(harness("report", "run", "--format", "junit", cwd=project).stdout)
    metrics = harness("report", "run", "--format", "gitlab", cwd=project).stdout
    bencher = json.loads(harness("report", "run", "--format", "bencher", cwd=project).stdout)

    told = {p.get("name"): p.get("value") for p in junit.iter("property")}
    assert [case.get("line") for case in junit.iter("testcase")] == ["7"]
    assert told["leak.bytes.per_step"] == told["finding.0.tensor_bytes_per_step"] == "16384"
    assert 'harness_leak_bytes_per_step{scenario="train",variant="step"} 16384\n' in metrics
    assert bencher["train · step"]["leak-bytes-per-step"]["value"] == 16384
