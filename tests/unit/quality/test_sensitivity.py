"""The benchmark says the first number of steps at which a leak was seen, or that it never was."""

from __future__ import annotations

from harness.model.allocation import Frame
from harness.model.report import HeldBy, RunReport
from tests.benchmarks.sensitivity import LEAKS, SmallLeak, holder_named, line_named, steps_until
from tests.report_builder import a_finding, a_leak, a_run

LEAK = SmallLeak(title="", source="", seen=lambda run: run.outcome == "leak", within=30, looks=(10, 20, 30))


def test_the_first_look_that_shows_it_counts() -> None:
    def run_for(steps: int) -> RunReport:
        return a_leak() if steps >= 20 else a_run()

    steps, run = steps_until(LEAK, run_for)

    assert steps == 20
    assert run is not None
    assert run.outcome == "leak"


def test_what_no_look_shows_was_never_seen() -> None:
    assert steps_until(LEAK, lambda steps: a_run()) == (None, None)


def test_a_leak_is_named_by_its_line_and_its_holder() -> None:
    frame = Frame(path="a.py", line=1, function="step", source="kept.append(torch.zeros(256))")
    held = HeldBy(text="module small_leak > kept: list > [*]", root="module small_leak")
    run = a_leak(findings=(a_finding(allocated_at=(frame,), held_by=held),))

    assert line_named(run)
    assert holder_named(run)
    assert not line_named(a_leak())
    assert not holder_named(a_run())


def test_each_bound_is_among_the_looks() -> None:
    assert all(leak.within in leak.looks for leak in LEAKS)
