"""A judged run is held against its label as the issue's words say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.allocation import Frame
from harness.model.report import HeldBy
from harness.model.verdict import LookAlike
from tests.quality.labels import Label, quoted, read_label
from tests.quality.scoring import Mark, below_bounds, outcome_is_right, score, shares
from tests.report_builder import a_finding, a_leak, a_run


def a_label(**changes: Any) -> Label:
    """A list called ``history`` that gains 16 KiB of tensors a step."""
    values: dict[str, Any] = {
        "leak": True,
        "causes": ("held_reference",),
        "channel": "tensor",
        "lines": ("history.append(x)", "x = torch.ones(64, 64)"),
        "holder": "module global 'history' (list)",
        "bytes_per_step": 16500.0,
    }
    return Label(**values | changes)


def answers(marks: tuple[Mark, ...]) -> dict[str, bool | None]:
    return {mark.question: mark.right for mark in marks}


def frame(source: str) -> Frame:
    return Frame(path="a.py", line=1, function="step", source=source)


def test_a_finding_that_says_all_is_right_in_all() -> None:
    marks = score(a_leak(), a_label())

    assert answers(marks) == {"outcome": True, "cause": True, "line": True, "holder": True, "bytes": True}


def test_a_leak_that_was_not_found_misses_everything() -> None:
    marks = score(a_run(), a_label())

    assert set(answers(marks).values()) == {False}


@pytest.mark.parametrize(
    ("outcome", "variant", "leak", "right"),
    [
        ("leak", "step", True, True),
        ("leak", "fixed_step", True, False),
        ("stable", "fixed_step", True, True),
        ("inconclusive", "step", True, False),
        ("leak", "step", False, False),
        ("inconclusive", "step", False, True),
        ("failed", "step", False, False),
    ],
)
def test_leak_is_right_only_where_there_is_one(outcome: str, variant: str, leak: bool, right: bool) -> None:
    assert outcome_is_right(a_run(outcome=outcome, variant=variant), a_label(leak=leak)) is right


def test_one_of_several_causes_is_enough() -> None:
    run = a_leak(findings=(a_finding(cause="python_objects"), a_finding(cause="hook_accumulation")))

    assert answers(score(run, a_label(causes=("hook_accumulation", "held_reference"))))["cause"]
    assert not answers(score(run, a_label()))["cause"]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("x  =  torch.ones(64,   64)", True),
        ("return (x := x = torch.ones(64, 64))", True),
        ("x = torch.ones(", True),
        ("x = t", False),
        ("x = torch.zeros(64, 64)", False),
    ],
)
def test_a_line_is_compared_without_its_spaces_and_as_far_as_it_goes(source: str, named: bool) -> None:
    run = a_leak(findings=(a_finding(allocated_at=(frame(source),)),))

    assert answers(score(run, a_label()))["line"] is named


def test_the_line_may_stand_in_the_path_too() -> None:
    held = HeldBy(text="module train > history.append(x) > [*]", root="module train")
    run = a_leak(findings=(a_finding(allocated_at=(), held_by=held),))

    assert answers(score(run, a_label()))["line"]


def test_all_quoted_words_have_to_be_in_one_path() -> None:
    one = a_finding(held_by=HeldBy(text="local seen of collect", root="frame"))
    other = a_finding(held_by=HeldBy(text="thread stats", root="thread", links=("collect", "seen: list")))
    label = a_label(holder="local 'seen' of function 'collect' in thread 'stats'")

    assert not answers(score(a_leak(findings=(one,)), label))["holder"]
    assert answers(score(a_leak(findings=(one, other)), label))["holder"]


def test_a_holder_without_a_quoted_word_needs_some_path() -> None:
    label = a_label(holder="opt.param_groups")

    assert answers(score(a_leak(), label))["holder"]
    assert answers(score(a_leak(findings=(a_finding(held_by=None),)), label))["holder"] is False


@pytest.mark.parametrize("holder", ["none (lost pointer in C heap)", "lost reference count"])
def test_where_nothing_holds_it_nothing_need_be_named(holder: str) -> None:
    assert answers(score(a_leak(findings=(a_finding(held_by=None),)), a_label(holder=holder)))["holder"]


@pytest.mark.parametrize(("explanation", "right"), [("C++ nodes keep one another alive", None), ("it is kept", False)])
def test_an_owner_below_python_does_not_count_where_the_finding_says_so(explanation: str, right: bool | None) -> None:
    finding = a_finding(held_by=None, explanation=explanation)

    mark = answers(score(a_leak(findings=(finding,)), a_label(holder="C++ reference cycle")))

    assert mark["holder"] is right


@pytest.mark.parametrize(
    ("amounts", "right"), [((16384.0,), True), ((12000.0, 5000.0), True), ((14000.0,), False), ((), False)]
)
def test_bytes_are_right_within_a_tenth(amounts: tuple[float, ...], right: bool) -> None:
    run = a_leak(findings=tuple(a_finding(bytes_per_step=amount) for amount in amounts))

    assert answers(score(run, a_label()))["bytes"] is right


def test_bytes_that_are_only_approximate_are_not_asked_for() -> None:
    assert "bytes" not in answers(score(a_leak(), a_label(bytes_per_step=None)))


def test_a_second_leak_is_asked_for_by_itself() -> None:
    second = a_label(causes=("python_objects",), lines=("meta.append(i)",), holder="'meta'", bytes_per_step=5000.0)

    marks = score(a_leak(), a_label(second=second))

    missed = {mark.question for mark in marks if mark.scenario == "train (second)" and mark.right is False}
    assert missed == {"cause", "line", "holder", "bytes"}


def test_a_look_alike_is_right_where_one_of_its_classes_is_told() -> None:
    label = a_label(leak=False, look_alikes=("bounded_cache", "warm_up"))
    seen = LookAlike(look_alike="warm_up", bytes=1, evidence="")

    assert answers(score(a_run(look_alikes=(seen,)), label)) == {"outcome": True, "look-alike": True}
    assert answers(score(a_run(), label))["look-alike"] is False


def test_shares_and_bounds_count_what_counts() -> None:
    def mark(question: str, right: bool | None) -> Mark:
        return Mark(scenario="a", variant="step", question=question, right=right, wanted="", said="")

    marks = [mark("holder", True)] * 9 + [mark("holder", False), mark("holder", None), mark("cause", False)]

    assert shares(marks) == {"cause": (0, 1), "holder": (9, 10)}
    assert below_bounds(marks) == ("cause",)


def test_words_in_quotes_are_names_and_apostrophes_are_not() -> None:
    assert quoted("local 'seen' (list) in thread 'stats'") == ("seen", "stats")
    assert quoted("the loader's own dict and the model's list") == ()


def test_a_label_is_read_without_running_its_file(tmp_path: Path) -> None:
    case = tmp_path / "case.py"
    case.write_text(
        "raise SystemExit\nEXPECT = {'leak': True, 'cause': ['a', 'b'], 'line_contains': 'x', 'also_ok': ['y'],"
        " 'holder': \"'h'\", 'bytes_per_step': 10, 'no_bytes_check': True, 'look_alike': ['none'],"
        " 'second': {'cause': 'c', 'line_contains': 'z', 'bytes_per_step': 5}}\n"
    )

    label = read_label(case)

    second = Label(leak=True, causes=("c",), channel="none", lines=("z",), bytes_per_step=5.0)
    assert label == Label(leak=True, causes=("a", "b"), channel="none", lines=("x", "y"), holder="'h'", second=second)


def test_a_file_without_a_label_has_none(tmp_path: Path) -> None:
    case = tmp_path / "case.py"
    case.write_text("def step(): pass\n")

    assert read_label(case) is None
