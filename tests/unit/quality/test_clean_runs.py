"""Which programs are run as clean ones, with which seeds, and what is said of the outcomes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.quality.clean_programs import CASES, ORDINARY, SCENARIOS, clean_programs
from tests.quality.clean_runs import CleanRun, in_workers, summary, tasks
from tests.quality.labels import read_label


def a_clean_run(**changes: Any) -> CleanRun:
    values: dict[str, Any] = {
        "scenario": "a",
        "variant": "step",
        "seed": 1,
        "outcome": "stable",
        "steps": 208,
        "elapsed_s": 1.0,
    }
    return CleanRun(**values | changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "leaks": "EXPECT = {'leak': True}\ndef step(): pass\ndef fixed_step(): pass\n",
        "looks": "EXPECT = {'leak': False}\ndef step(): pass\n",
        "plain": "def step(): pass\n",
        "shows": "def step(): pass\ndef fixed_step(): pass\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_clean_are_fixed_halves_look_alikes_and_programs_that_say_nothing(folder: Path) -> None:
    programs = clean_programs([str(folder)])

    assert [(p.name, p.variants) for p in programs] == [
        ("leaks", ("fixed_step",)),
        ("looks", ("step",)),
        ("plain", ("step",)),
        ("shows", ("fixed_step",)),
    ]


def test_each_run_of_a_program_has_a_seed_of_its_own_until_there_are_enough(folder: Path) -> None:
    programs = clean_programs([str(folder)])

    asked = [(seed, p.name) for seed, some in tasks(programs, 6) for p in some]

    assert asked == [(1, "leaks"), (1, "looks"), (1, "plain"), (1, "shows"), (2, "leaks"), (2, "looks")]


def test_what_is_done_is_not_run_again(folder: Path) -> None:
    programs = clean_programs([str(folder)])
    done = [a_clean_run(scenario="looks"), a_clean_run(scenario="leaks", variant="fixed_step")]

    asked = [p.name for _, some in tasks(programs, 4, done=done) for p in some]

    assert asked == ["plain", "shows"]


def test_the_summary_names_the_false_alarms_first_with_their_reasons() -> None:
    alarm = a_clean_run(scenario="b", outcome="leak", seed=3, reasons=("heap grew 300 bytes a step",))
    doubt = a_clean_run(scenario="a", outcome="inconclusive")

    assert summary([a_clean_run(), doubt, alarm]).splitlines() == [
        "leak         b::step seed 3, 208 steps",
        "             heap grew 300 bytes a step",
        "inconclusive a::step seed 1, 208 steps",
        "3 runs of 2 clean programs: 1 stable, 1 inconclusive, 1 leak",
        "called leak: 1 of 3 (33.33%; at most 1 in 1000)",
    ]


def test_every_file_of_ours_is_an_ordinary_loop_or_a_whole_case() -> None:
    labels = {path.stem: read_label(path) for path in CASES.glob("*.py")}
    leaks = [name for name, label in labels.items() if label is not None and label.leak]

    assert None not in labels.values()
    assert len(leaks) >= 28
    assert len(labels) - len(leaks) >= 8
    assert len(clean_programs([str(ORDINARY)])) >= 20
    assert len(clean_programs([str(CASES)])) == len(labels)
    assert len(clean_programs([str(SCENARIOS)])) >= 10


def test_no_two_clean_programs_have_the_same_name() -> None:
    # Results are kept by name.
    names = [(p.name, p.variants) for p in clean_programs([str(ORDINARY), str(SCENARIOS), str(CASES)])]

    assert len(names) == len(set(names))


def twice(number: int) -> list[int]:
    """A task: pickled by its name, so it stands at the top."""
    return [2 * number]


def for_ever(number: int) -> list[int]:
    """A task that only an end of its process ends."""
    while True:
        signal.pause()


@pytest.mark.slow
def test_workers_give_all_that_they_are_asked_for() -> None:
    assert sorted(in_workers(twice, iter([1, 2, 3]))) == [2, 4, 6]


@pytest.mark.slow
def test_an_interruption_ends_the_workers_in_the_midst_of_their_work() -> None:
    before = {child.pid for child in psutil.Process().children()}

    def work() -> Iterator[int]:
        yield from (1, 2)
        raise KeyboardInterrupt  # as it comes while the parent waits

    with pytest.raises(KeyboardInterrupt):
        list(in_workers(for_ever, work()))

    left = {child.pid for child in psutil.Process().children() if "resource_tracker" not in " ".join(child.cmdline())}
    assert left - before == set()
