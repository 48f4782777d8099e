"""``harness report``."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options

__all__ = ["report"]


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@options.output_format
def report(run: Path, format: str) -> int:
    """Print a saved run again, in any format.

    RUN is a folder that `harness run --out FOLDER` wrote, or a report.json. Exits 0 whatever the report says: it
    could be read and printed.

    \b
    markdown          for a comment on a pull request
    junit             for test pages: a case a variant
    sarif             SARIF 2.1.0, for code scanning
    github            annotations; in a job of GitHub's the Markdown goes to its summary too
    gitlab            exact figures as OpenMetrics, for artifacts:reports:metrics
    benchmark-action  figures for github-action-benchmark (customSmallerIsBetter)
    bencher           figures in Bencher Metric Format
    """
    from harness.cli.results import print_report, print_troubles
    from harness.output import read_report
    from harness.render import FIGURES_ONLY

    saved = read_report(run)
    print_report(saved, format)
    if format in FIGURES_ONLY:
        print_troubles(saved, format)
    return 0
