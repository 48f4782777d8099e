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
    """
    from harness.cli.results import print_report, print_troubles
    from harness.output import read_report
    from harness.render import FIGURES_ONLY

    saved = read_report(run)
    print_report(saved, format)
    if format in FIGURES_ONLY:
        print_troubles(saved, format)
    return 0
