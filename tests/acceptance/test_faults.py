"""Whatever a scenario does, it gets the right ending and a sentence that helps, and the others still run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from harness.cli.exit_codes import exit_code
from harness.model.codec import decode_report
from harness.model.report import Report, RunReport
from tests.acceptance.fault_table import BROKEN, Row

HARNESS = [sys.executable, "-m", "harness.cli.main"]


def harness(*arguments: str, cwd: Path, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HARNESS, *arguments], cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """All rows of the table, as one folder, in one run."""
    folder = tmp_path_factory.mktemp("broken")
    for row in BROKEN:
        (folder / f"{row.name}.py").write_text(row.source, encoding="utf-8")
    done = harness(
        "run", ".", "--format", "json", "--timeout", "8", "--jobs", "2", "--memory-limit", "256 MiB", cwd=folder
    )
    return decode_report(done.stdout.encode(), origin="stdout")


def the_run(report: Report, row: Row) -> RunReport:
    (run,) = [run for run in report.runs if run.scenario == row.name]
    return run


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row.name)
def test_each_way_to_go_wrong_has_its_outcome_and_ending(report: Report, row: Row) -> None:
    run = the_run(report, row)

    assert (run.outcome, run.ending.status, run.started) == (row.outcome, row.ending, row.started)


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row.name)
def test_each_way_to_go_wrong_has_its_exit_code(report: Report, row: Row) -> None:
    alone = msgspec.structs.replace(report, runs=(the_run(report, row),))

    assert exit_code(alone) == row.exit_code


@pytest.mark.parametrize("row", [row for row in BROKEN if row.says], ids=lambda row: row.name)
def test_each_way_to_go_wrong_is_explained(report: Report, row: Row) -> None:
    run = the_run(report, row)

    assert row.says in "\n".join((run.ending.detail or "", *run.reasons, run.stderr))


def test_a_crash_shows_the_line_that_it_happened_in(report: Report) -> None:
    run = next(run for run in report.runs if run.scenario == "segmentation_fault")

    assert 'segmentation_fault.py", line 4 in step' in run.stderr


def test_a_hang_shows_the_line_that_it_hangs_in(report: Report) -> None:
    run = next(run for run in report.runs if run.scenario == "endless_step")

    assert 'endless_step.py", line ' in run.stderr


def test_what_a_scenario_prints_never_mixes_with_the_report(report: Report) -> None:
    run = next(run for run in report.runs if run.scenario == "writes_100_megabytes")

    assert run.stdout.startswith("xxx")
    assert "bytes left out" in run.stdout
    assert len(run.stdout) < 50_000


def test_a_file_without_a_step_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def main(): pass\n")

    done = harness("run", "train.py", cwd=tmp_path)

    assert done.returncode == 4
    assert "step" in done.stderr + done.stdout


def test_a_missing_path_is_wrong_usage_and_near_names_are_offered(tmp_path: Path) -> None:
    (tmp_path / "train_step.py").write_text("def step(i): pass\n")

    done = harness("run", "train_stop.py", cwd=tmp_path)

    assert done.returncode == 4
    assert "train_step.py" in done.stderr + done.stdout


def test_a_missing_path_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("def step(i): pass\n")

    done = harness("run", "good.py", "nowhere.py", "--format", "json", cwd=tmp_path)

    said = json.loads(done.stdout)
    assert done.returncode == 4
    assert [run["outcome"] for run in said["runs"]] == ["stable"]
    assert [problem["target"] for problem in said["problems"]] == ["nowhere.py"]


def test_an_empty_folder_measures_nothing(tmp_path: Path) -> None:
    assert harness("run", ".", cwd=tmp_path).returncode == 5


@pytest.mark.slow
def test_a_folder_with_300_scenarios_runs_them_all(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"scenario_{number:03}.py").write_text("def step(i): pass\n")

    done = harness("run", ".", "--steps", "2", "--warmup", "0", "--format", "json", cwd=tmp_path)

    assert len(json.loads(done.stdout)["runs"]) == 300


LEAVES_DESCENDANTS = """
import os, subprocess, sys, pathlib
def setup():
    here = pathlib.Path(__file__).parent
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleeper)
    detached = subprocess.Popen(sleeper, start_new_session=True)
    (here / "pids").write_text(f"{os.getpid()} {os.getppid()} {child.pid} {detached.pid}")
def step(i):
    print(i, file=open(pathlib.Path(__file__).parent / "started", "w"), flush=True)
    while True:
        pass
"""


def started_endless_run(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A run that is in the middle of an endless step, and every process that it brought into being."""
    (folder / "good.py").write_text("def step(i): pass\n")
    (folder / "with_descendants.py").write_text(LEAVES_DESCENDANTS)
    os.mkfifo(folder / "started")
    running = subprocess.Popen(
        [*HARNESS, "run", "good.py", "with_descendants.py", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background has it ignored
    )
    (folder / "started").read_text()  # blocks until the endless step has begun
    pids = (folder / "pids").read_text().split()
    return running, [psutil.Process(int(pid)) for pid in pids]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killing_the_parent_leaves_no_orphan_and_no_half_written_report(tmp_path: Path, jobs: str) -> None:
    running, processes = started_endless_run(tmp_path, "--out", "results", "--jobs", jobs)

    running.kill()
    running.communicate()

    _, alive = psutil.wait_procs(processes, timeout=60)
    assert alive == []
    assert not (tmp_path / "results").exists()


def test_ctrl_c_reports_what_is_done_and_takes_everything_down(tmp_path: Path) -> None:
    running, processes = started_endless_run(tmp_path, "--format", "json")

    running.send_signal(signal.SIGINT)
    stdout, _ = running.communicate(timeout=120)

    report = json.loads(stdout)
    done = {(run["scenario"], run["outcome"], run["ending"]["status"]) for run in report["runs"]}
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert running.returncode == 2
    assert report["interrupted"] is True
    assert done == {("good", "stable", "ok"), ("with_descendants", "failed", "interrupted")}
    assert alive == []


def test_ctrl_c_reaches_scenarios_that_run_side_by_side(tmp_path: Path) -> None:
    running, processes = started_endless_run(tmp_path, "--format", "json", "--jobs", "2")

    running.send_signal(signal.SIGINT)
    stdout, _ = running.communicate(timeout=120)

    report = json.loads(stdout)
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert running.returncode == 2
    assert report["interrupted"] is True
    assert ("with_descendants", "interrupted") in {(r["scenario"], r["ending"]["status"]) for r in report["runs"]}
    assert alive == []


def test_shared_memory_that_a_scenario_leaves_is_tidied_up(tmp_path: Path) -> None:
    (tmp_path / "shares.py").write_text(
        "import pathlib\nfrom multiprocessing import shared_memory\n"
        "shared = shared_memory.SharedMemory(create=True, size=4096)\n"
        "pathlib.Path(__file__).with_name('name').write_text(shared.name)\ndef step(i): pass\n"
    )

    harness("run", "shares.py", "--steps", "2", "--warmup", "0", cwd=tmp_path)

    assert not (Path("/dev/shm") / (tmp_path / "name").read_text()).exists()


def test_what_a_scenario_leaves_to_the_interpreters_end_is_done_even_if_it_never_ends(tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text(
        "import atexit, pathlib, tempfile\natexit.register(lambda: __import__('signal').pause())\n"
        "folder = tempfile.TemporaryDirectory()\natexit.register(folder.cleanup)\n"
        "pathlib.Path(__file__).with_name('name').write_text(folder.name)\ndef step(i): pass\n"
    )

    done = harness("run", "leaves.py", "--steps", "2", "--warmup", "0", "--format", "json", cwd=tmp_path)

    assert not Path((tmp_path / "name").read_text()).exists()
    assert [run["ending"]["status"] for run in json.loads(done.stdout)["runs"]] == ["ok"]


def test_killing_the_server_leaves_no_orphan_and_the_other_results(tmp_path: Path) -> None:
    running, processes = started_endless_run(tmp_path, "--format", "json")

    processes[1].kill()
    stdout, _ = running.communicate(timeout=120)

    done = {(run["scenario"], run["outcome"], run["ending"]["status"]) for run in json.loads(stdout)["runs"]}
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert running.returncode == 1
    assert done == {("good", "stable", "ok"), ("with_descendants", "failed", "killed")}
    assert alive == []


@pytest.mark.slow
def test_a_stopped_server_is_given_up_on_and_leaves_no_orphan(tmp_path: Path) -> None:
    running, processes = started_endless_run(tmp_path, "--format", "json")

    processes[1].suspend()
    running.send_signal(signal.SIGINT)
    stdout, _ = running.communicate(timeout=280)

    _, alive = psutil.wait_procs(processes, timeout=60)
    assert running.returncode == 2
    assert {run["scenario"] for run in json.loads(stdout)["runs"]} == {"good", "with_descendants"}
    assert alive == []


def test_a_timeout_of_years_is_one(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("def step(i): pass\n")

    done = harness("run", "good.py", "--steps", "2", "--warmup", "0", "--timeout", "1e9", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
