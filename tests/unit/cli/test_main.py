"""The door itself: quick, quiet where a reader has gone, and the same as a module and as a script."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from harness import _version
from harness.cli import printing
from harness.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[3]
HEAVY = ("torch", "numpy", "scipy", "rich", "psutil", "harness.pipeline")


def python(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, encoding="utf-8")


def loaded_after(code: str) -> set[str]:
    told = python("-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)").stderr
    return set(told.split()) & set(HEAVY)


def test_help_loads_nothing_that_is_slow_to_load() -> None:
    assert (
        loaded_after("from harness.cli.main import main\ntry: main(['run', '--help'])\nexcept SystemExit: pass")
        == set()
    )


def test_listing_loads_no_torch_and_nothing_of_the_measuring() -> None:
    loaded = loaded_after("from harness.cli.main import main\ntry: main(['list'])\nexcept SystemExit: pass")

    assert loaded == {"rich"}


def test_what_run_imports_in_the_parent_holds_no_torch() -> None:
    loaded = loaded_after("import harness.pipeline, harness.output, harness.cli.progress, harness.render.terminal")

    assert "harness.pipeline" in loaded
    assert "torch" not in loaded


def test_help_names_every_command_in_the_order_of_use(harness: Any) -> None:
    code, out, _ = harness("--help")

    listed = [line.split()[0] for line in out.partition("Commands:")[2].splitlines() if line]
    assert code == 0
    assert listed == [command.name for command in COMMANDS]
    assert listed[0] == "run"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_every_command_explains_itself(command: Any, harness: Any) -> None:
    code, out, _ = harness(command.name, "--help")

    assert code == 0
    assert command.help
    assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option))
    assert "--format" in out


def test_options_of_one_name_are_one_option(harness: Any) -> None:
    seen: dict[str, set[str]] = {}
    for command in cli.commands.values():
        for parameter in command.params:
            seen.setdefault(str(parameter.name), set()).add(str(parameter.to_info_dict()))

    # A report has formats that neither a list of scenarios nor an examination has.
    assert len(seen.pop("format")) == 2
    assert all(len(meanings) == 1 for meanings in seen.values())


def test_the_version_is_told(harness: Any) -> None:
    assert harness("--version").out == f"harness, version {_version.__version__}\n"


def test_without_a_command_help_is_shown_and_the_code_says_wrong_usage(harness: Any) -> None:
    code, out, err = harness()

    assert code == 4
    assert "Commands:" in out + err


def test_an_unknown_command_exits_4_and_names_what_is_near(harness: Any) -> None:
    code, _, err = harness("runn")

    assert code == 4
    assert "No such command 'runn'" in err


def test_a_reader_that_has_gone_away_causes_no_traceback_and_changes_no_exit_code() -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "harness.cli.main", "list"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        check=False,
    )
    os.close(write)

    assert (process.returncode, process.stderr) == (0, "")


def test_json_is_utf8_whatever_the_locale(work: Path) -> None:
    (work / "größe.py").write_text("def step(i): ...\n")

    process = python("-m", "harness.cli.main", "list", ".", "--format", "json", PYTHONIOENCODING="ascii")

    assert process.returncode == 0
    assert '"größe"' in process.stdout


def test_a_terminated_command_ends_as_an_interrupted_one(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*args: Any, **kwargs: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("harness.capture.discover.discover", killed)
    before = signal.getsignal(signal.SIGTERM)

    assert harness("list").code == 2
    assert signal.getsignal(signal.SIGTERM) is before


class Terminal:
    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "environment", "color"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_color_is_for_terminals_whose_owner_wants_it(
    is_terminal: bool, environment: dict[str, str], color: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert printing.has_color(Terminal(is_terminal)) is color  # type: ignore[arg-type] # all it asks for is isatty


def test_the_width_is_the_terminals_and_a_file_gets_108(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "88")

    assert printing.width(Terminal(True)) == 88  # type: ignore[arg-type] # all it asks for is isatty
    assert printing.width(Terminal(False)) == 108  # type: ignore[arg-type] # all it asks for is isatty


def shell(command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = command.replace("harness", f"{shlex.quote(sys.executable)} -m harness.cli.main")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )


@pytest.mark.parametrize("command", ["harness list", "harness list --format json", "harness --help"])
def test_a_closed_stdout_takes_what_is_printed_and_no_traceback_comes(command: str) -> None:
    done = shell(f"{command} >&-")

    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stderr_does_not_send_errors_to_stdout() -> None:
    done = shell("harness list nowhere.py --format json 2>&-")

    assert done.returncode == 4
    assert json.loads(done.stdout)["scenarios"] == []


def test_a_full_stdout_is_an_error_that_says_so() -> None:
    done = shell("harness list >/dev/full")

    assert done.returncode == 4
    assert done.stderr.startswith("harness: stdout: cannot be written: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_a_full_stderr_changes_no_exit_code() -> None:
    assert shell("harness list --no-such-option 2>/dev/full").returncode == 4
