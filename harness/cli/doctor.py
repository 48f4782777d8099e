"""``harness doctor``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli import options

__all__ = ["doctor"]


@click.command()
@click.option(
    "--library",
    "libraries",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A library of custom operators to look at too, and to load behind torch. Repeatable.",
)
@options.terminal_or_json
@options.quiet
def doctor(libraries: tuple[Path, ...], format: str, quiet: bool) -> int:
    """Say what works here and what does not: ledgers, instruments, torch's build and libraries, limits, caches.

    torch is imported in a process of its own, so one that crashes or hangs is an answer too. Nothing is loaded from
    the network, and no file is left behind. With --quiet only problems and notes are printed.

    Exits 0 where nothing is a problem (notes are none), 1 where something is, 4 on wrong usage.
    """
    from harness.cli import printing
    from harness.cli.exit_codes import AS_EXPECTED, UNEXPECTED
    from harness.doctor import examine, gather

    checkup = examine(gather(libraries))
    if format == "json":
        from harness.model.codec import encode_json

        printing.print_result(encode_json(checkup).decode())
    else:
        from harness.render.checkup import render

        color, width = printing.has_color(sys.stdout), printing.width(sys.stdout)
        printing.print_result(render(checkup, width=width, color=color, quiet=quiet))
    return UNEXPECTED if checkup.count("problem") else AS_EXPECTED
