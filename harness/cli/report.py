"""``harness report``."""

from __future__ import annotations

import sys
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
    from harness.cli import printing
    from harness.output import read_report
    from harness.render import render

    saved = read_report(run)
    color, width = printing.has_color(sys.stdout), printing.width(sys.stdout)
    printing.print_result(render(saved, format, width=width, color=color))
    return 0
