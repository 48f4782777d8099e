"""Annotations: one line each, at a line of the repository, the worst ten, and no command that a name smuggles in."""

from __future__ import annotations

import re

from harness.model.report import Report
from harness.render.github import render
from tests.hostile import a_hostile_report, a_report_of_everything
from tests.report_builder import a_finding, a_leak, a_report, a_run

COMMAND = re.compile(r"::(error|warning|notice) ((?:file=[^,:]+,)?(?:line=\d+,)?title=[^,:]+)::(.+)")


def lines(report: Report) -> list[str]:
    return render(report).splitlines()


def test_a_leak_is_an_error_at_its_line_with_the_finding_below_it() -> None:
    annotation = (
        "::error file=work/train.py,line=12,title=train · step%3A leak (held_reference)%2C expected stable::"
        "held_reference 16.0 KiB/step at work/train.py:12 in step, held by module train > history: list > [*]%0A"
        "grows       16.0 KiB/step, 1 object a step, 896.0 KiB kept in all on cpu%0A"
        "held by     module train > history: list > [*]; grows at history%0A"
        "why         Something that outlives the step keeps the tensors allocated at line 12 in step.%0A"
        "fix         Drop them when the step is done, or bound the container."
    )

    assert lines(a_report(a_leak())) == [annotation, "harness: 0 of 1 as expected, 1 not: train · step."]


def test_what_ended_as_expected_is_not_annotated() -> None:
    assert lines(a_report(a_run(), a_leak(as_expected=True))) == ["harness: All 2 runs ended as expected."]


def test_the_level_says_how_a_run_counts() -> None:
    told = [line.partition(" ")[0] for line in lines(a_report_of_everything())]

    assert told == ["::error"] * 4 + ["::warning"] * 2 + ["::notice", "harness:"]


def test_the_worst_ten_stand_first_and_the_others_are_counted() -> None:
    runs = [a_leak(f"s{k}", findings=(a_finding(bytes_per_step=float(k)),)) for k in range(13)]

    told = lines(a_report(*runs))

    assert [re.findall(r"title=(s\d+)", line)[0] for line in told[:-1]] == [f"s{k}" for k in range(12, 2, -1)]
    assert told[-1].endswith(" 3 more annotations are left out.")


def test_hostile_text_stays_inside_its_own_command() -> None:
    told = lines(a_hostile_report())

    assert all(COMMAND.fullmatch(line) for line in told[:-1])
    assert told[-1].startswith("harness: ")
    assert all(c.isprintable() for line in told for c in line)


def test_percent_signs_and_line_breaks_are_written_as_the_runner_reads_them() -> None:
    (told, _) = lines(a_report(a_run(outcome="failed", as_expected=False, reasons=("100%", "second"))))

    assert told.endswith("::100%25%0Asecond")


def test_an_empty_report_and_an_interrupted_one_say_so() -> None:
    assert lines(a_report()) == ["harness: Nothing was measured."]
    assert lines(a_report(a_run(), interrupted=True))[0].startswith("::warning title=interrupted::Interrupted")
