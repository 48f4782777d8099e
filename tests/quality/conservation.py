"""How much growth of resident memory nobody accounts for: ``python -m tests.quality.conservation FOLDER [NAME ...]``.

Runs every scenario of the folder (or those whose names contain a NAME) and prints, for each run that leaks, the growth,
its parts and the unexplained share. Exit code 1 where more than 5 % of the growth, and more than 1 MiB, is unexplained.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from harness.capture.discover import discover
from harness.model.recording import Variant
from harness.model.report import Conservation, RunReport
from harness.pipeline import RunOptions, run_scenarios

__all__ = ["MOST_UNEXPLAINED_BYTES", "MOST_UNEXPLAINED_SHARE", "line_of", "main", "within_bound"]

MOST_UNEXPLAINED_SHARE = 0.05
MOST_UNEXPLAINED_BYTES = 1 << 20


def within_bound(account: Conservation) -> bool:
    """Whether what is unexplained is little, against the growth or by itself."""
    most = max(MOST_UNEXPLAINED_SHARE * abs(account.rss_growth_bytes), MOST_UNEXPLAINED_BYTES)
    return abs(account.unexplained_bytes) <= most


def line_of(run: RunReport) -> str:
    """The run's account in one line, in KiB."""
    account = run.conservation
    if account is None:
        return f"-   {run.scenario[:34]:34} {run.variant:10} {run.outcome:12} no account ({run.ending.status})"
    share = abs(account.unexplained_bytes) / max(abs(account.rss_growth_bytes), 1)
    parts = " ".join(f"{name} {size / 1024:.0f}" for name, size in account.parts.items() if size)
    return (
        f"{'ok ' if within_bound(account) else 'BAD'} {run.scenario[:34]:34} {run.variant:10} {run.outcome:12} "
        f"grew {account.rss_growth_bytes / 1024:9.0f} unexplained {account.unexplained_bytes / 1024:7.0f} "
        f"({share:6.1%}): {parts}"
    )


class _Teller:
    """Prints the runs that leak, as they come."""

    def begin(self, total: int) -> None:
        print(f"{total} runs; KiB")

    def started(self, scenario: str, variant: Variant) -> None:
        pass

    def stepped(self, steps: int, doing: str) -> None:
        pass

    def finished(self, run: RunReport) -> None:
        if run.outcome == "leak":
            print(line_of(run), flush=True)

    def end(self) -> None:
        pass


def main(arguments: Sequence[str]) -> int:
    """Run, print, and say by the exit code whether everything is accounted for."""
    folder, *names = arguments
    found, problems = discover([folder])
    cases = [s for s in found if not names or any(name in s.name for name in names)]
    options = RunOptions(variant="step", native=False, confirm=False)
    report = run_scenarios(cases, options=options, progress=_Teller(), problems=problems)
    leaking = [run for run in report.runs if run.outcome == "leak"]
    beyond = [run for run in leaking if run.conservation is None or not within_bound(run.conservation)]
    print(f"{len(leaking)} leaking runs, {len(beyond)} beyond the bound or without an account")
    for error in (*report.problems, *report.errors):
        print(f"not run: {error.target}: {error.message}")
    return int(bool(beyond or report.errors or report.interrupted or not leaking))


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
