"""Progress goes to stderr, in the form that fits what stderr is."""

from __future__ import annotations

import io
import sys

import pytest

from harness.cli.progress import BarProgress, LineProgress, SilentProgress, progress_for
from tests.report_builder import a_leak, a_run


class Screen(io.StringIO):
    """A terminal that counts how often it is drawn on, and that can be torn away."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.refused = 0
        self.gone = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.gone:
            self.refused += 1
            raise BrokenPipeError
        self.writes += 1
        return super().write(text)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def terminal_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def test_the_form_fits_the_stream() -> None:
    assert isinstance(progress_for(Screen(), quiet=False), BarProgress)
    assert isinstance(progress_for(io.StringIO(), quiet=False), LineProgress)
    assert type(progress_for(Screen(), quiet=True)) is SilentProgress


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")

    assert isinstance(progress_for(Screen(), quiet=False), LineProgress)


def test_lines_count_and_tell_each_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    progress = LineProgress()

    progress.begin(12)
    for run in (a_run("\x1b[2Ja"), a_leak("b")):
        progress.started(run.scenario, run.variant)
        progress.stepped(3, "measuring")
        progress.finished(run)
    progress.end()

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[ 1/12] \\x1b[2Ja · step: stable, as expected (64 steps, 1.2 s)",
        "[ 2/12] b · step: leak (held_reference), expected stable (64 steps, 1.2 s)",
    ]


def test_the_bar_shows_what_is_going_on_and_leaves_nothing_behind() -> None:
    screen, clock = Screen(), Clock()
    progress = BarProgress(screen, clock)

    progress.begin(2)
    progress.started("train", "step")
    clock.now += 1
    progress.stepped(40, "following tensors")
    progress.finished(a_run())
    progress.end()
    progress.end()

    drawn = screen.getvalue()
    assert "train · step" in drawn
    assert "following tensors, step 40" in drawn
    assert "1/2" in drawn
    assert drawn.endswith("\x1b[2K")  # the line is erased


def test_the_bar_is_not_drawn_for_each_of_a_million_steps() -> None:
    screen, clock = Screen(), Clock()
    progress = BarProgress(screen, clock)
    progress.begin(1)
    progress.started("train", "step")
    before = screen.writes

    for k in range(10_000):
        progress.stepped(k, "measuring")

    assert screen.writes == before
    progress.end()


def test_a_terminal_that_goes_away_does_not_end_the_run() -> None:
    screen = Screen()
    progress = BarProgress(screen, Clock())
    progress.begin(1)
    screen.gone = True

    progress.started("train", "step")
    found_gone = screen.refused
    progress.stepped(1, "measuring")
    progress.finished(a_run())
    progress.end()

    assert found_gone > 0
    assert screen.refused == found_gone  # it was found out once, and then left alone


def test_lines_on_a_stderr_that_is_gone_do_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    screen.gone = True
    monkeypatch.setattr(sys, "stderr", screen)
    progress = LineProgress()

    progress.begin(1)
    progress.finished(a_run())

    assert screen.refused == 1
