"""README keeps its word: its commands are those that CI runs, and its example comes out as it is shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from harness.cli.exit_codes import PRECEDENCE
from tests.repo.source_tree import ROOT

INSTALL_AND_RUN = "pip install -c constraints.txt -e . && harness run"
INSTALL_AND_TEST = "pip install -c constraints.txt -e '.[test]' && pytest"


def readme() -> str:
    return (ROOT / "README.md").read_text()


def block_after(sentence: str) -> str:
    """The first fenced block after *sentence*."""
    found = re.search(re.escape(sentence) + r".*?^```\w*\n(.*?)^```$", readme(), re.DOTALL | re.MULTILINE)
    assert found is not None, sentence
    return found[1]


def test_the_two_commands_are_there_and_ci_runs_the_one_that_tests() -> None:
    blocks = re.findall(r"^```\w*\n(.*?)\n```$", readme(), re.DOTALL | re.MULTILINE)

    assert INSTALL_AND_RUN in blocks
    assert INSTALL_AND_TEST in blocks
    assert INSTALL_AND_TEST in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_example_comes_out_as_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(block_after("Save this as `train.py`:"))
    command = [sys.executable, "-m", "harness.cli.main", "run", "train.py", "--quiet"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    shown = block_after("and run `harness run train.py`:").splitlines()
    # Growth, speed and steps are this machine's; the verdict, the cause, the place and the cure are not.
    kept = re.compile(r"✗ train ·|  (cause|allocated|held by|fix|next) |      .*outputs\.append|\d+ of \d+ as expected")
    lines = [line for line in shown if kept.match(line)]
    assert len(lines) == 10
    assert [line for line in lines if line not in done.stdout.splitlines()] == []
    assert done.returncode == 1


def test_the_example_of_a_scope_fails_as_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(block_after("Save this as `serve.py`:"))

    done = subprocess.run([sys.executable, "serve.py"], cwd=tmp_path, capture_output=True, text=True, check=False)

    shown = " ".join(block_after("and run `python serve.py`:").split())
    assert shown.replace("…", str(tmp_path)) == done.stderr.splitlines()[-1]


def test_the_exit_codes_are_all_explained_and_in_the_right_order() -> None:
    explained = {int(code) for code in re.findall(r"^\| (\d+) \|", readme(), re.MULTILINE)}
    (order,) = re.findall(r"the first in this order: ([\d, ]+)\.", readme())

    codes = [code for code in PRECEDENCE if code != 11]  # 11 is for watched programs, which are not there yet
    assert explained == set(codes)
    assert [int(code) for code in order.split(", ")] == codes


def test_every_file_and_folder_that_the_documents_name_is_there() -> None:
    missing = []
    for document in ("README.md", "CONTRIBUTING.md", "tests/README.md", "reports/README.md"):
        text = (ROOT / document).read_text()
        named = re.findall(r"(?:harness|scenarios|tests|reports)/[\w./-]*\w|\b[A-Z]+\.md\b", text)
        missing += [f"{document}: {name}" for name in named if not (ROOT / name).exists() and "/out" not in name]

    assert missing == []
