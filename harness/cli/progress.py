"""What a run says on stderr while it goes on: a bar on a terminal, lines in a log, nothing when asked to be quiet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from harness.cli.printing import tell
from harness.model.recording import Variant
from harness.model.report import RunReport
from harness.render.escaped import cut
from harness.render.view import run_title, verdict_words
from harness.units import format_duration

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

__all__ = ["BarProgress", "LineProgress", "SilentProgress", "progress_for"]

_REFRESH_S = 0.1


def progress_for(stream: TextIO, *, quiet: bool) -> SilentProgress | LineProgress | BarProgress:
    """The progress that fits *stream* (stderr)."""
    if quiet:
        return SilentProgress()
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        return BarProgress(stream)
    return LineProgress()


class SilentProgress:
    """Says nothing."""

    def begin(self, total: int) -> None: ...
    def started(self, scenario: str, variant: Variant) -> None: ...
    def stepped(self, steps: int, doing: str) -> None: ...
    def finished(self, run: RunReport) -> None: ...
    def end(self) -> None: ...


class LineProgress(SilentProgress):
    """One line for each variant that is judged."""

    def __init__(self) -> None:
        self._total = 0
        self._done = 0

    def begin(self, total: int) -> None:
        self._total = total

    def finished(self, run: RunReport) -> None:
        self._done += 1
        number = f"{self._done:{len(str(self._total))}}"
        took = f"{run.steps} steps, {format_duration(run.elapsed_s)}"
        tell(f"[{number}/{self._total}] {run_title(run)}: {verdict_words(run)} ({took})")


class BarProgress(SilentProgress):
    """A bar, drawn again at most ten times a second and gone at the end.

    It is drawn when the run tells something and by no thread: a process with threads is not safe to fork.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._drawn_at = -_REFRESH_S
        self._bar: RichProgress | None = None
        self._task: Any = None

    def begin(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        class Screen(Console):
            """On a stderr that has gone away rich's own console closes stdout and ends the process."""

            def on_broken_pipe(self) -> None:
                self.quiet = True

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}", style="dim", markup=False),
            console=Screen(file=self._stream),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("starting", total=total, doing="")
        self._quietly(self._bar.start)

    def started(self, scenario: str, variant: Variant) -> None:
        self._update(now=True, description=f"{cut(scenario, 40)} · {variant}", doing="")

    def stepped(self, steps: int, doing: str) -> None:
        self._update(doing=f"{cut(doing, 40)}, step {steps}")

    def finished(self, run: RunReport) -> None:
        self._update(now=True, advance=1)

    def end(self) -> None:
        if self._bar is not None:
            self._quietly(self._bar.stop)
            self._bar = None

    def _update(self, *, now: bool = False, **fields: Any) -> None:
        if self._bar is None:
            return
        due = now or self._clock() - self._drawn_at >= _REFRESH_S
        bar = self._bar
        self._quietly(lambda: bar.update(self._task, refresh=due, **fields))
        if due:
            self._drawn_at = self._clock()

    def _quietly(self, draw: Callable[[], object]) -> None:
        try:
            draw()
        except (OSError, ValueError):
            self._bar = None  # stderr is gone; the run goes on
