"""``harness run``: results on stdout, everything else on stderr, and the verdict in the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from harness import pipeline
from harness.errors import CaptureError, UsageError
from harness.model.report import Problem
from harness.output import read_report
from harness.pipeline import RunOptions
from tests.report_builder import a_leak, a_recording, a_run
from tests.unit.cli.fake_pipeline import FakePipeline


def test_a_run_prints_its_report_on_stdout_and_its_progress_on_stderr(harness: Any, faked: Any) -> None:
    faked()

    code, out, err = harness("run", "train.py")

    assert code == 0
    assert "The one run ended as expected." in out
    assert err == "[1/1] train · step: stable, as expected (64 steps, 1.2 s)\n"


def test_a_leak_that_nobody_expected_exits_1(harness: Any, faked: Any) -> None:
    faked(a_leak())

    assert harness("run", "train.py").code == 1


def test_json_is_all_that_stands_on_stdout(harness: Any, faked: Any) -> None:
    faked(a_run("größe"))

    _, out, err = harness("run", "train.py", "--format", "json")

    assert json.loads(out)["runs"][0]["scenario"] == "größe"
    assert "größe · step" in err


def test_quiet_leaves_stderr_empty(harness: Any, faked: Any) -> None:
    faked()

    assert harness("run", "train.py", "--quiet", "--out", "kept").err == ""


def test_every_option_reaches_the_pipeline(harness: Any, faked: Any) -> None:
    fake = faked()
    how_long = ("--steps", "9", "--warmup", "0", "--timeout", "1m30s", "--memory-limit", "1.5 GiB")
    what = ("--variant", "fixed_step", "--start", "spawn", "--seed", "7", "--faults")

    harness("run", "train.py", *how_long, *what)

    assert fake.options == RunOptions(
        steps=9,
        warmup=0,
        variant="fixed_step",
        timeout_s=90.0,
        memory_limit_bytes=3 * 2**29,
        start="spawn",
        seed=7,
        faults=True,
    )
    assert fake.asked[0].variants == ("fixed_step",)


def test_without_options_the_pipeline_decides(harness: Any, faked: Any) -> None:
    fake = faked()

    harness("run", "train.py")

    assert fake.options == RunOptions()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--timeout", "5%"), "'5%' is not a duration"),
        (("--timeout", "0"), "it must be above zero"),
        (("--timeout", "-5"), "it is negative"),
        (("--memory-limit", "512"), "it has no unit"),
        (("--memory-limit", "0 B"), "it must be above zero"),
        (("--steps", "0"), "not in the range"),
        (("--steps", "many"), "not a valid integer"),
        (("--warmup", "-1"), "not in the range"),
        (("--seed", "4294967296"), "not in the range"),
        (("--variant", "third"), "is not one of"),
        (("--format", "yaml"), "is not one of"),
        (("--only", "nonsense"), "is not one of"),
        (("--step", "3"), "No such option"),
    ],
)
def test_wrong_usage_exits_4_and_says_what_is_right(
    harness: Any, faked: Any, arguments: tuple[str, ...], told: str
) -> None:
    fake = faked()

    code, out, err = harness("run", "train.py", *arguments)

    assert (code, out) == (4, "")
    assert told in err
    assert not fake.asked


def test_with_out_the_report_and_the_recordings_are_kept_and_stderr_says_where(harness: Any, faked: Any) -> None:
    faked(recordings=[a_recording()])

    code, _, err = harness("run", "train.py", "--out", "kept")

    assert code == 0
    assert err.endswith("Wrote the report and 1 recording to kept\n")
    assert read_report(Path("kept")).runs[0].scenario == "train"
    assert Path("kept/recordings/tidy.step.json").is_file()


def test_a_folder_that_cannot_be_replaced_is_refused_before_anything_is_measured(harness: Any, faked: Any) -> None:
    fake = faked()
    Path("kept").mkdir()
    Path("kept/mine.txt").write_text("mine")

    code, out, err = harness("run", "train.py", "--out", "kept")

    assert (code, out) == (4, "")
    assert "kept: holds 'mine.txt'" in err
    assert not fake.asked


def test_a_result_is_printed_also_when_it_cannot_be_kept(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Spoiler(FakePipeline):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            Path("kept").write_text("somebody else's, made while we measured")
            return super().__call__(*args, **kwargs)

    monkeypatch.setattr(pipeline, "run_scenarios", Spoiler())

    code, out, err = harness("run", "train.py", "--out", "kept")

    assert code == 4
    assert "The one run ended as expected." in out
    assert "a file, and a run needs a folder" in err


def test_what_cannot_be_found_is_reported_beside_what_ran_and_exits_4(harness: Any, faked: Any) -> None:
    fake = faked()

    code, out, _ = harness("run", "train.py", "held_referense", "--format", "json")

    assert code == 4
    assert [scenario.name for scenario in fake.asked] == ["train"]
    assert json.loads(out)["problems"][0]["help"].startswith("Did you mean held_reference?")


def test_a_folder_without_scenarios_exits_5(harness: Any, faked: Any) -> None:
    Path("empty").mkdir()
    fake = faked()

    code, out, err = harness("run", "empty")

    assert (code, out) == (5, "")
    assert err.startswith("harness: no scenario in empty\n  A scenario is a Python file")
    assert not fake.asked


def test_tags_and_kinds_choose_among_what_was_found(harness: Any, faked: Any) -> None:
    Path("slow.py").write_text("SCENARIO = Scenario(tags=('speed',), expect=slower(2))\ndef step(i): ...\n")
    fake = faked()

    harness("run", ".", "--tag", "speed", "--tag", "other", "--only", "slower", "--only", "leak")

    assert [scenario.name for scenario in fake.asked] == ["slow"]


def test_a_choice_that_leaves_nothing_exits_5_and_says_what_there_is(harness: Any, faked: Any) -> None:
    faked()

    code, _, err = harness("run", ".", "--only", "leak", "--tag", "speed")

    assert code == 5
    assert "none of 1 scenarios is left by --only leak --tag speed" in err
    assert "They expect: stable. Their tags: none." in err


def test_an_interrupted_run_prints_what_there_is_and_exits_2(harness: Any, faked: Any) -> None:
    faked(interrupted=True)

    code, out, _ = harness("run", "train.py")

    assert code == 2
    assert "Interrupted: what follows is missing." in out


def test_an_interruption_outside_the_measuring_exits_2_without_a_traceback(harness: Any, faked: Any) -> None:
    faked(error=KeyboardInterrupt())

    code, out, err = harness("run", "train.py")

    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == "harness: interrupted"
    assert "Traceback" not in err


def test_a_fault_of_the_tool_exits_3_with_a_traceback_that_cannot_act_on_the_terminal(harness: Any, faked: Any) -> None:
    faked(error=ZeroDivisionError("\x1b[2J"))

    code, out, err = harness("run", "train.py")

    assert (code, out) == (3, "")
    assert "harness: internal error: ZeroDivisionError: \\x1b[2J\n" in err
    assert "a fault of the tool and not of your code" in err
    assert "fake_pipeline.py" in err
    assert "\x1b" not in err


def test_machinery_that_failed_exits_3_with_its_own_words_and_no_traceback(harness: Any, faked: Any) -> None:
    faked(error=CaptureError("the fork server did not start", help="Try --start spawn."))

    code, _, err = harness("run", "train.py")

    assert code == 3
    assert err.endswith("harness: the fork server did not start\n  Try --start spawn.\n")


def test_strictness_is_asked_for_by_option(harness: Any, faked: Any) -> None:
    faked(a_leak(outcome="inconclusive", findings=()))

    assert harness("run", "train.py", "--inconclusive", "fail").code == 10


def test_a_stdout_that_is_full_does_not_cost_what_out_keeps(
    work: Path, harness: Any, faked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    faked()
    monkeypatch.setattr("harness.cli.printing.print_result", Mock(side_effect=UsageError("stdout: full")))

    code, _, err = harness("run", "train.py", "--out", "kept")

    assert code == 4
    assert "stdout: full" in err
    assert read_report(work / "kept").runs


@pytest.mark.parametrize("option", ["--steps", "--warmup"])
def test_a_number_of_steps_that_no_integer_holds_is_wrong_usage(option: str, harness: Any) -> None:
    code, _, err = harness("run", "train.py", option, "1" + 30 * "0")

    assert code == 4
    assert "is not in the range" in err


def test_a_failure_of_the_tool_is_printed_with_what_was_measured_and_exits_3(harness: Any, faked: Any) -> None:
    faked(a_run("tidy"), errors=(Problem(target="train.py::step", message="broke:\nTraceback", help="Report it."),))

    code, out, err = harness("run", "train.py", "--format", "json")

    assert code == 3
    assert [run["scenario"] for run in json.loads(out)["runs"]] == ["tidy"]
    assert "harness: train.py::step: broke:" in err
