"""Targets lead to scenarios without any of their code being run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.capture import discover as discover_module
from harness.capture.discover import discover
from harness.capture.scenario_file import ScenarioFile
from harness.errors import UsageError
from harness.model.expectation import Expectation
from harness.model.report import Problem


@pytest.fixture(autouse=True)
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two bundled scenarios of our own, and an empty working directory."""
    folder = tmp_path / "installed" / "scenarios"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "held_reference.py").write_text("def step(i): ...\ndef fixed_step(i): ...\n")
    (folder / "slow_copy.py").write_text("def step(i): ...\n")
    monkeypatch.setattr(discover_module, "bundled_folder", lambda: folder)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return folder


def write(path: str, text: str | bytes = "def step(i): ...\n") -> str:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def one(target: str) -> ScenarioFile:
    scenarios, problems = discover([target])
    assert problems == ()
    assert len(scenarios) == 1, scenarios
    return scenarios[0]


def refusal(target: str, **more: str) -> Problem:
    scenarios, problems = discover([target], **more)  # type: ignore[arg-type] # variant's spelling
    assert scenarios == ()
    assert len(problems) == 1, problems
    return problems[0]


def test_without_targets_all_bundled_scenarios_are_found() -> None:
    scenarios, problems = discover([])

    assert [(s.name, s.shown_path, s.bundled) for s in scenarios] == [
        ("held_reference", "scenarios/held_reference.py", True),
        ("slow_copy", "scenarios/slow_copy.py", True),
    ]
    assert problems == ()


@pytest.mark.parametrize("target", ["held_reference", "scenarios/held_reference.py", "held_reference::step"])
def test_a_bundled_scenario_is_found_by_its_name_and_by_the_path_that_reports_show(target: str) -> None:
    assert one(target).shown_path == "scenarios/held_reference.py"


def test_a_file_of_the_users_wins_over_a_bundled_name() -> None:
    write("scenarios/held_reference.py")

    assert not one("scenarios/held_reference.py").bundled


def test_folders_are_searched_to_their_depth_in_sorted_order_without_hidden_ones() -> None:
    for path in (
        "b/z.py",
        "b/a.py",
        "b/deep/er.py",
        "a.py",
        ".hidden/x.py",
        ".y.py",
        "__pycache__/c.py",
        "env/lib/m.py",
    ):
        write(path)
    write("env/pyvenv.cfg", "")
    write("no_step.py", "def stop(): ...\n")
    write("readme.txt")

    scenarios, problems = discover(["."])

    assert [s.shown_path for s in scenarios] == ["a.py", "b/a.py", "b/z.py", "b/deep/er.py"]
    assert problems == ()


def test_a_folder_without_scenarios_gives_nothing_and_is_no_problem() -> None:
    os.mkdir("empty")

    assert discover(["empty"]) == ((), ())


@pytest.mark.parametrize(
    "source",
    [
        "def step(i): ...",
        "async def step(i): ...",
        "class step: ...",
        "step = make()",
        "step: object = make()",
        "one, step = make()",
        "from work import step",
        "from work import other as step",
        "import step",
        "if True:\n    def step(i): ...",
        "try:\n    from a import step\nexcept ImportError:\n    step = make()",
        "try:\n    x = 1\nfinally:\n    def step(i): ...",
        "with a as b:\n    for c in d:\n        def step(i): ...",
        "match a:\n    case 1:\n        def step(i): ...",
        "if __name__ == '__main__':\n    pass\nelse:\n    def step(i): ...",
        "\ufeffdef step(i): ...",
    ],
)
def test_step_counts_however_the_module_binds_it(source: str) -> None:
    write("work.py", source)

    assert one(".").variants == ("step",)


@pytest.mark.parametrize(
    "source",
    [
        "step = 0",
        "step = -1",
        "step, other = 0, make()",
        "step: int",
        "def f():\n    def step(i): ...",
        "class A:\n    def step(self): ...",
        "if __name__ == '__main__':\n    step = make()",
        "if TYPE_CHECKING:\n    from work import step",
        "'a step'",
        "def fixed_step(i): ...",
        "",
    ],
)
def test_a_file_without_a_step_of_its_own_is_passed_over_and_refused_by_name(source: str) -> None:
    write("work.py", source)

    assert discover(["."]) == ((), ())
    assert refusal("work.py").message == "work.py: has no module-level function called step"


def test_nothing_in_a_scenario_is_run() -> None:
    write("bomb.py", "raise SystemExit('ran')\ndef step(i): ...\n")

    assert one("bomb.py").name == "bomb"


def test_a_star_import_may_bring_a_step_where_the_file_is_named() -> None:
    write("stars.py", "from elsewhere import *\n")

    assert one("stars.py").variants == ("step",)


def test_what_a_scenario_says_of_itself_is_read_from_its_literals() -> None:
    write(
        "said.py",
        "import harness\n"
        "SCENARIO: object = harness.Scenario(title='Two ' 'words', tags=('a', 'b'), fresh_interpreter=True,\n"
        "    pitfall=compute(), expect=harness.leak(cause='held_reference'))\n"
        "def step(i): ...\n",
    )

    found = one("said.py")

    assert (found.title, found.tags, found.fresh_interpreter) == ("Two words", ("a", "b"), True)
    assert found.expected == Expectation(kind="leak", cause="held_reference")


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ("slower(at_least=4)", Expectation(kind="slower", at_least=4.0)),
        ("look_alike('warm_up')", Expectation(kind="look_alike", look_alike="warm_up")),
        ("gradient_wrong()", Expectation(kind="gradient_wrong")),
        ("leak('no such cause')", Expectation(kind="stable")),
        ("leak(CAUSE)", Expectation(kind="stable")),
        ("leak(*x, **y)", Expectation(kind="stable")),
        ("unknown(1)", Expectation(kind="stable")),
        ("EXPECTED", Expectation(kind="stable")),
    ],
)
def test_what_is_computed_or_wrong_is_left_to_the_subject(expect: str, expected: Expectation) -> None:
    write("said.py", f"SCENARIO = Scenario(title=7, tags='one', expect={expect})\ndef step(i): ...\n")

    found = one("said.py")

    assert (found.title, found.tags) == ("", ())
    assert found.expected == expected


@pytest.mark.parametrize(
    "source", ["def step(i)\n", "def step(i): ...\n" + "(" * 5000, "step = " + "-" * 100_000 + "1"]
)
def test_a_file_that_python_cannot_parse_is_still_run_so_that_the_subject_says_why(source: str) -> None:
    write("broken.py", source)

    assert one("broken.py").variants == ("step",)
    assert one(".").variants == ("step",)


def test_odd_text_in_a_scenario_prints_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    write("odd.py", "x = '\\d'\ndef step(i): ...\n")

    one("odd.py")

    assert not recwarn.list


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x00\x01 step", "it holds zero bytes"),
        ("def step(i): ...".encode("utf-16"), "it holds zero bytes"),
        (b"x = 'caf\xe9'\ndef step(i): ...\n", "not text in the encoding"),
        (b"# coding: klingon\ndef step(i): ...\n", "not text in the encoding"),
    ],
)
def test_a_file_that_is_no_text_is_a_problem(data: bytes, why: str) -> None:
    write("binary.py", data)

    assert why in refusal("binary.py").message


def test_a_file_in_another_declared_encoding_is_read() -> None:
    write("latin.py", b"# coding: latin-1\n# caf\xe9\ndef step(i): ...\n")

    assert one("latin.py").variants == ("step",)


def test_a_missing_path_names_what_is_near() -> None:
    write("training.py")

    assert refusal("held_referense").help == "Did you mean held_reference? `harness list` shows the bundled scenarios."
    assert refusal("trainig.py").help.startswith("Did you mean training.py?")
    assert refusal("nothing/like/it.py").message == "'nothing/like/it.py': no such file, folder or bundled scenario"
    assert refusal("").message.startswith("''")
    assert refusal("a\0b").message.endswith("no such file, folder or bundled scenario")


def test_a_variant_is_chosen_after_two_colons_or_by_the_option() -> None:
    write("both.py", "def step(i): ...\ndef fixed_step(i): ...\n")

    assert one("both.py").variants == ("step", "fixed_step")
    assert one("both.py::fixed_step").variants == ("fixed_step",)
    assert discover(["both.py"], variant="fixed_step")[0][0].variants == ("fixed_step",)


def test_a_variant_that_the_file_lacks_is_a_problem_where_the_file_is_named_and_none_in_a_folder() -> None:
    write("half.py")

    assert refusal("half.py::fixed_step").message == "half.py::fixed_step: has no fixed_step"
    assert refusal("half.py", variant="fixed_step").message == "half.py: has no fixed_step"
    assert refusal("half.py::third_step").message == "half.py::third_step: 'third_step' is no variant"
    assert discover(["."], variant="fixed_step") == ((), ())


def test_what_is_asked_for_twice_runs_once_with_all_variants_asked_for() -> None:
    write("both.py", "def step(i): ...\ndef fixed_step(i): ...\n")
    os.symlink("both.py", "link.py")

    scenarios, _ = discover(["both.py::fixed_step", "link.py", ".", "./both.py", os.path.abspath("both.py")])

    assert [(s.name, s.variants) for s in scenarios] == [("both", ("step", "fixed_step"))]


@pytest.mark.parametrize("name", ["with space.py", "größe-мир.py", "a::b.py", "quote'\"; rm -rf.py", "\x1b[31mred.py"])
def test_odd_names_work(name: str) -> None:
    write(name)

    assert one(name).path == Path.cwd() / name


def test_a_name_that_is_no_utf8_is_a_problem_that_can_be_printed() -> None:
    with open(b"caf\xe9.py", "wb") as file:
        file.write(b"def step(i): ...\n")

    (problem,) = discover(["."])[1]

    assert problem.message == "./caf\\xe9.py: its name is not valid UTF-8"


def test_what_is_neither_file_nor_folder_is_refused_without_reading_it() -> None:
    os.mkfifo("pipe.py")
    os.symlink("nowhere.py", "dangling.py")

    assert refusal("pipe.py").message == "pipe.py: neither a file nor a folder"
    assert refusal("dangling.py").message == "dangling.py: a link that leads nowhere"
    assert discover(["."]) == ((), ())


def test_a_file_that_is_not_python_is_refused() -> None:
    write("notes.txt")

    assert "does not end in .py" in refusal("notes.txt").message


def test_what_cannot_be_read_is_a_problem_and_the_rest_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    write("locked/a.py")
    write("open.py")
    real_scandir = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("locked"):  # root may read everything, so a mode would prove nothing
            raise PermissionError(13, "Permission denied", path)
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", scandir)

    scenarios, problems = discover(["."])

    assert [s.name for s in scenarios] == ["open"]
    assert [p.message for p in problems] == ["./locked: cannot be read: Permission denied"]


def test_the_real_bundled_folder_is_found_without_importing_it() -> None:
    code = (
        "import sys; from harness.capture.bundled import bundled_folder; from harness.capture.discover import discover;"
        "discover([]); print(bundled_folder());"
        "print(sorted(m for m in sys.modules if m in ('torch', 'numpy', 'harness.scenarios')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )

    folder, imported = run.stdout.splitlines()
    assert (Path(folder) / "held_reference.py").is_file()
    assert imported == "[]"


def test_a_working_directory_that_was_removed_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(UsageError, match="the folder that you are in was removed"):
        discover([])


def test_a_file_of_megabytes_is_looked_through_and_not_parsed() -> None:
    write("huge.py", "def step(i): ...\nasync def fixed_step(i): ...\n" + "x = (\n" * (1 << 20))

    assert one("huge.py").variants == ("step", "fixed_step")


def test_what_is_too_large_for_a_source_is_not_even_read() -> None:
    with open("video.py", "wb") as file:
        file.truncate(1 << 40)

    assert refusal("video.py").message == "video.py: 1048576 MiB is too large for a scenario"


def test_a_name_that_is_longer_than_any_file_may_bear_is_a_problem() -> None:
    assert "no such file, folder or bundled scenario" in refusal("x" * 5000).message
