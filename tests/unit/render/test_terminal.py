"""The terminal report: nothing from outside reaches the terminal raw, nothing is lost, everything fits."""

from __future__ import annotations

import math

import pytest

from harness.model.allocation import Frame
from harness.model.recording import Ending
from harness.model.report import Conservation, Curve, Problem
from harness.model.verdict import LookAlike
from harness.render.terminal import render
from tests.report_builder import a_finding, a_leak, a_report, a_run

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\n\u202eevil\u2066\x9b31m\x00\ud800 [red]x[/red] :smile:"


def test_text_from_outside_never_reaches_the_terminal_raw() -> None:
    finding = a_finding(
        explanation=HOSTILE,
        fix=HOSTILE,
        device=HOSTILE,
        known={"what": HOSTILE},
        native_stack=(HOSTILE,),
        allocated_at=(Frame(path=HOSTILE, line=1, function=HOSTILE, source=HOSTILE),) * 2,
    )
    hostile = {
        "path": HOSTILE,
        "title": HOSTILE,
        "reasons": (HOSTILE,),
        "notes": (HOSTILE,),
        "look_alikes": (LookAlike(look_alike=HOSTILE, bytes=1, evidence=HOSTILE),),
        "stderr": HOSTILE,
        "ending": Ending(status="raised", detail=HOSTILE),
    }
    report = a_report(
        a_leak(HOSTILE, findings=(finding, a_finding()), **hostile),
        a_run(HOSTILE, findings=(finding,), **hostile),
        problems=(Problem(target=HOSTILE, message=HOSTILE, help=HOSTILE),),
    )

    shown = render(report)

    assert all(c.isprintable() or c == "\n" for c in shown)
    assert "\\x1b[2J" in shown
    assert "[red]x[/red] :smile:" in shown
    shown.encode()


@pytest.mark.parametrize("width", [60, 72, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = "x" * 500
    report = a_report(
        a_leak(long, path=f"{long}.py", reasons=(long,), notes=(long,), title=long),
        a_run("names " * 40, notes=(long,)),
        a_leak("third", outcome="inconclusive"),
        problems=(Problem(target=long, message=long, help=long),),
    )

    assert max(len(line) for line in render(report, width=width).splitlines()) <= width


def test_names_of_a_megabyte_are_cut_and_both_ends_stay() -> None:
    shown = render(a_report(a_run("start" + "\x1b" * 1_000_000 + "end", as_expected=False)))

    assert len(shown) < 5_000
    assert "start" in shown
    assert "end · step" in shown


def test_a_reason_names_the_scenarios_own_file_as_everything_else_does() -> None:
    reasons = ("storages from /home/me/work/train.py:8 and /home/me/other.py:3 grew",)

    shown = render(a_report(a_leak("train", path="work/train.py", reasons=reasons, as_expected=False)), width=160)

    assert "from work/train.py:8 and /home/me/other.py:3 grew" in shown


def test_color_is_used_only_where_it_is_asked_for() -> None:
    report = a_report(a_leak())

    assert "\x1b" not in render(report)
    assert "\x1b[31m" in render(report, color=True)


def test_colors_and_width_do_not_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    report = a_report(a_leak())
    before = render(report)
    for name, value in (("COLUMNS", "40"), ("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)

    assert render(report) == before
    assert "\x1b[31m" in render(report, color=True)


def test_an_unexpected_run_is_explained_even_when_it_says_almost_nothing() -> None:
    bare = a_run("bare", outcome="failed", as_expected=False, started=False, steps=0, reasons=(), throughput=None)

    shown = render(a_report(bare))

    assert "✗ bare · step: not run, expected stable" in shown
    assert "next        harness run work/bare.py --variant step" in shown


def test_growth_known_to_be_a_librarys_is_marked_and_named() -> None:
    known = a_finding(known={"what": "torch.compile keeps guards", "link": "https://example.org/1"})

    shown = render(a_report(a_leak(findings=(known,))))

    assert "~ train · step: leak (known) (held_reference), expected stable" in shown
    assert "torch.compile keeps guards" in shown
    assert "0 of 1 as expected; 1 known upstream growth." in shown


def test_an_inconclusive_run_suggests_more_steps() -> None:
    shown = render(a_report(a_leak(outcome="inconclusive", findings=(), steps=64)))

    assert "? train · step: inconclusive, expected stable" in shown
    assert "--steps 128" in shown


def test_more_findings_than_anybody_reads_are_counted() -> None:
    shown = render(a_report(a_leak(findings=(a_finding(),) * 9)))

    assert shown.count("held by") == 6
    assert "and 3 more findings: --format json shows all of them" in shown


def test_the_account_of_resident_memory_names_its_parts_largest_first_and_leaves_out_small_ones() -> None:
    conservation = Conservation(
        rss_growth_bytes=1048576,
        parts={"native_heap": 1024, "tensors": 1000000, "untouched": -20480, "shared": 0},
        unexplained_bytes=49600,
        children_bytes=0,
    )

    shown = " ".join(render(a_report(a_leak(conservation=conservation)), width=200).split())

    assert (
        "memory Resident memory grew by 1.0 MiB: tensors 976.6 KiB, untouched -20.0 KiB, unexplained 48.4 KiB." in shown
    )


def test_the_account_tells_what_lies_beside_the_sum() -> None:
    conservation = Conservation(
        rss_growth_bytes=-4096,
        parts={"allocator_free": -4096},
        unexplained_bytes=0,
        children_bytes=2048,
        devices={"cuda": {"allocated": 1024, "cached": 0, "outside": -1024}},
    )

    shown = " ".join(render(a_report(a_leak(conservation=conservation)), width=200).split())

    expected = (
        "fell by 4.0 KiB: allocator free -4.0 KiB; children 2.0 KiB; on cuda allocated 1.0 KiB, outside -1.0 KiB."
    )
    assert expected in shown


def test_the_same_note_of_many_runs_stands_once() -> None:
    shown = render(a_report(a_run("a", notes=("slow ledger",)), a_run("b", notes=("slow ledger", "only here"))))

    assert "2 runs    slow ledger" in shown
    assert "b · step  only here" in shown


def test_what_the_ending_repeats_of_the_reasons_is_left_out() -> None:
    told = "the process crashed with SIGABRT"
    run = a_run(outcome="failed", as_expected=False, reasons=(told,), ending=Ending(status="crashed", detail=told))

    assert render(a_report(run)).lower().count(told.lower()) == 1


def test_a_run_that_the_user_stopped_is_not_held_against_the_code() -> None:
    run = a_run(outcome="failed", as_expected=False, started=False, steps=0, ending=Ending(status="interrupted"))

    shown = render(a_report(run, interrupted=True))

    assert "? tidy · step: interrupted, expected stable" in shown
    assert shown.endswith("0 of 1 as expected; 1 inconclusive.\n")


def test_a_curve_with_readings_that_are_no_numbers_is_drawn_with_gaps() -> None:
    curve = Curve(metric="leak.bytes", steps=(0, 1, 2, 3), values=(0.0, math.nan, math.inf, 1024.0))

    assert "▁  █ leak.bytes 0 B to 1.0 KiB" in render(a_report(a_leak(curves=(curve,))))


def test_an_interrupted_run_and_an_empty_one_say_so_last() -> None:
    assert render(a_report(a_run(), interrupted=True)).endswith(
        "Interrupted: what follows is missing. The one run ended as expected.\n"
    )
    assert render(a_report()).endswith("Nothing was measured.\n")


def test_a_failure_of_the_tool_is_shown_with_its_traceback() -> None:
    broke = Problem(target="train.py::step", message="measuring failed:\nKeyError: \x1b[2J", help="Please report it.")

    shown = render(a_report(a_run(), errors=(broke,)))

    assert "✗ train.py::step: measuring failed:\n  KeyError: \\x1b[2J\n  Please report it.\n" in shown
    assert shown.endswith("The one run ended as expected; measuring failed once.\n")
