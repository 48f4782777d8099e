"""The words for values that all renderers share."""

from __future__ import annotations

import pytest

from harness.model.expectation import Expectation
from harness.model.recording import Ending
from harness.model.report import Comparison, Curve, RunReport, SubjectId, Throughput
from harness.model.series import Growth
from harness.render.escaped import cut, escaped, tail
from harness.render.sparkline import main_curve, sparkline
from harness.render.view import (
    closing,
    comparison_words,
    expected_words,
    growth_words,
    next_command,
    peak_words,
    run_title,
    speed_words,
    standing,
    verdict_words,
)
from tests.report_builder import a_finding, a_leak, a_report, a_run


@pytest.mark.parametrize(
    ("run", "word"),
    [
        (a_run(), "expected"),
        (a_leak(), "unexpected"),
        (a_leak(outcome="inconclusive"), "inconclusive"),
        (a_leak(outcome="failed", ending=Ending(status="interrupted")), "inconclusive"),
        (a_leak(outcome="leak", ending=Ending(status="interrupted")), "unexpected"),
        (a_leak(findings=(a_finding(known={"what": "x"}),)), "known"),
        (a_leak(findings=(a_finding(known={"what": "x"}), a_finding())), "unexpected"),
        (a_leak(findings=()), "unexpected"),
    ],
)
def test_a_run_stands_as_its_worst_part_says(run: RunReport, word: str) -> None:
    assert standing(run) == word


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (Expectation(kind="stable"), "stable"),
        (Expectation(kind="leak", cause="fd_growth"), "leak (fd_growth)"),
        (Expectation(kind="look_alike", look_alike="warm_up"), "look-alike (warm_up)"),
        (Expectation(kind="slower", at_least=4), "slower (at least 4.0x)"),
        (Expectation(kind="gradient_wrong"), "wrong gradient"),
    ],
)
def test_expectations_are_told_in_words(expected: Expectation, words: str) -> None:
    assert expected_words(expected) == words
    assert expected_words(expected, short=True) == words.partition(" (")[0]


def test_a_wrong_cause_is_told_beside_the_one_expected() -> None:
    run = a_leak(expected=Expectation(kind="leak", cause="native_heap"))

    assert verdict_words(run) == "leak (held_reference), expected leak (native_heap)"


def test_growth_is_the_main_findings_and_an_estimate_says_so() -> None:
    heap = Growth(per_step=2100.0, low=300, high=4000, unit="bytes", trend="growing")
    blocks = Growth(per_step=9999.0, low=300, high=4000, unit="count", trend="growing")

    assert growth_words(a_leak()) == "16.0 KiB/step"
    assert growth_words(a_leak(findings=(a_finding(confidence="statistical"),))) == "~16.0 KiB/step"
    assert growth_words(a_leak(findings=(a_finding(bytes_per_step=0, tensor_bytes_per_step=0),))) == "1/step"
    assert growth_words(a_run(growth={"python.blocks": blocks, "heap.used": heap})) == "~2.1 KiB/step"
    assert growth_words(a_run()) == "-"


def test_speed_is_items_where_a_step_has_them() -> None:
    assert speed_words(a_run()) == "51.0 steps/s"
    assert speed_words(a_run(throughput=Throughput(steps_per_s=51, items_per_s=1632))) == "1,632 items/s"
    assert speed_words(a_run(throughput=None)) == "-"


def test_comparisons_say_which_half_is_which() -> None:
    both = Comparison(throughput_ratio=6.1, peak_ratio=2.0, allocation_ratio=3.0)

    assert (
        comparison_words(both) == "fixed_step is 6.1x as fast; step peaks at 2.0x its bytes and allocates 3.0x as often"
    )
    assert comparison_words(Comparison(peak_ratio=1.04)) == "step peaks at 1.04x its bytes"
    assert comparison_words(Comparison()) == "nothing could be compared"


@pytest.mark.parametrize(
    ("run", "end"),
    [
        (a_leak(), "--variant step --format json"),
        (a_leak(outcome="inconclusive", steps=64), "--steps 128"),
        (a_leak(outcome="failed", ending=Ending(status="timed_out"), elapsed_s=300), "--timeout 1200s"),
        (a_leak(outcome="failed", ending=Ending(status="out_of_memory"), steps=9), "--steps 4"),
    ],
)
def test_the_next_command_fits_what_happened(run: RunReport, end: str) -> None:
    assert next_command(run).startswith("harness run work/train.py")
    assert next_command(run).endswith(end)


def test_the_next_command_can_be_pasted_into_a_shell() -> None:
    assert next_command(a_leak(path="my code/x;y.py")).startswith("harness run 'my code/x;y.py' --variant step")


def test_titles_name_the_rank_and_worker_of_a_distributed_job() -> None:
    assert run_title(a_run("a", subject=SubjectId(rank=3, worker=0, pid=1))) == "a · step · rank 3 · worker 0"


def test_the_closing_line_counts_everything_once() -> None:
    runs = [a_run(), *(a_leak(name) for name in "abcd"), a_leak(outcome="inconclusive")]

    told = closing(a_report(*runs))

    assert told == "1 of 6 as expected, 4 not: a · step, b · step, c · step and 1 more; 1 inconclusive."


def test_the_curve_shown_is_what_the_verdict_is_about() -> None:
    curves = tuple(Curve(metric=m, steps=(0, 1), values=(0.0, 1.0)) for m in ("fds", "heap.used", "leak.bytes"))
    growth = {
        "fds": Growth(per_step=99.0, low=1, high=1, unit="count", trend="growing"),
        "heap.used": Growth(per_step=5.0, low=1, high=1, unit="bytes", trend="growing"),
    }

    exact, heap, flat = a_leak(curves=curves), a_run(curves=curves, growth=growth), a_run(curves=curves)

    assert [curve.metric for run in (exact, heap, flat) if (curve := main_curve(run))] == [
        "leak.bytes",
        "heap.used",
        "leak.bytes",
    ]
    assert main_curve(a_run()) is None


def test_a_sparkline_is_thinned_and_survives_any_values() -> None:
    steps = tuple(range(1000))

    assert sparkline(Curve(metric="fds", steps=steps, values=tuple(map(float, steps))), columns=8).startswith(
        "▁▂▃▄▅▆▇█ fds"
    )
    assert sparkline(Curve(metric="other", steps=(0, 1), values=(5.0, 5.0))) == "▁▁ other 5 to 5"
    assert sparkline(Curve(metric="x", steps=(0, 1), values=(-1.7e308, 1.7e308))).startswith("▁█")
    assert sparkline(Curve(metric="x", steps=(0,), values=(float("nan"),))) == "x: no reading is a number"


def test_cutting_keeps_both_ends_and_never_exceeds_its_limit() -> None:
    assert cut("short", 10) == "short"
    assert cut("a" * 50 + "b" * 50, 11) == "aaaaa…bbbbb"
    assert all(len(cut("\x1b" * k, 10)) <= 10 for k in range(60))
    assert escaped("größe\t\x1b") == "größe\\t\\x1b"


def test_a_tail_keeps_the_last_lines_that_say_something() -> None:
    assert tail("one\n\ntwo\n\tthree\n \n", 2) == ("two", "    three")
    assert tail("", 3) == ()


def test_a_peak_is_told_by_role_the_largest_first_and_not_at_all_where_it_is_not_known() -> None:
    run = a_run(peak_step=47, peak_by_role={"parameter": 1024, "activation": 3062, "other": 10})

    assert peak_words(run) == "4.0 KiB on the CPU in step 47: activation 75 %, parameter 25 %, other under 1 %"
    assert peak_words(a_run()) is None
