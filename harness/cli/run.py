"""``harness run``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options

if TYPE_CHECKING:
    from harness.cli.exit_codes import Strictness
    from harness.model.recording import Recording
    from harness.model.report import Report
    from harness.pipeline import RunOptions

__all__ = ["run"]

_MOST_JOBS_UNASKED = 4


@click.command()
@options.targets
@options.measuring
@options.selecting
@options.judging
@options.output
def run(
    targets: tuple[str, ...],
    only: tuple[str, ...],
    tags: tuple[str, ...],
    inconclusive: Strictness,
    known: Strictness,
    out: Path | None,
    format: str,
    quiet: bool,
    **measuring: Any,
) -> int:
    """Run scenarios in fresh processes and say which of them leak, why, where, and what to change.

    A scenario is any Python file with a function `step(i)`. TARGETS are files, folders, names of bundled scenarios,
    or FILE::fixed_step; without any, all bundled scenarios run.

    Exits 0 where all ended as expected, 1 where something did not, 2 when interrupted, 4 where something asked for
    cannot be run, 5 where there was nothing to run.
    """
    # Loaded here and in the functions below, so that --help does not wait for it.
    from harness.cli import printing
    from harness.cli.exit_codes import exit_code
    from harness.cli.results import print_report, print_troubles
    from harness.output import check_folder, write_run

    run_options = _run_options(bundled=not targets, **measuring)
    if out is not None:
        check_folder(out)
    recordings: list[Recording] = []
    save = None if out is None else recordings.append
    report = _measure(targets, only=only, tags=tags, options=run_options, quiet=quiet, save=save)
    try:
        print_report(report, format, quiet=quiet)
    finally:  # neither a full disk behind stdout nor one behind --out may cost what the other can still take
        if out is not None:
            wrote = write_run(out, report, recordings)
            if not quiet:
                printing.tell(wrote)
    print_troubles(report, format)
    return exit_code(report, inconclusive=inconclusive, known=known)


def _measure(
    targets: Sequence[str],
    *,
    only: Sequence[str],
    tags: Sequence[str],
    options: RunOptions,
    quiet: bool,
    save: Callable[[Recording], None] | None,
) -> Report:
    from harness.capture.discover import discover
    from harness.cli.progress import progress_for
    from harness.cli.selection import nothing_in, select
    from harness.pipeline import run_scenarios

    found, problems = discover(targets, variant=options.variant)
    scenarios = select(found, only=only, tags=tags)
    if not scenarios and not problems:
        raise nothing_in(targets)
    progress = progress_for(sys.stderr, quiet=quiet)
    try:
        return run_scenarios(scenarios, options=options, progress=progress, problems=problems, save=save)
    finally:
        progress.end()


def _run_options(
    *, bundled: bool, timeout: float, memory_limit: float | None, jobs: int | None, **same: Any
) -> RunOptions:
    from harness.pipeline import RunOptions

    limit = None if memory_limit is None else int(memory_limit)
    if jobs is None:  # the bundled ones are small and known not to disturb one another
        jobs = min(len(os.sched_getaffinity(0)), _MOST_JOBS_UNASKED) if bundled else 1
    return RunOptions(timeout_s=timeout, memory_limit_bytes=limit, jobs=jobs, **same)
