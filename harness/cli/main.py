"""The ``harness`` command. Only :func:`main` catches errors and turns them into exit codes."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Sequence

import click

from harness._version import __version__
from harness.cli import printing
from harness.cli.doctor import doctor
from harness.cli.list import list_scenarios
from harness.cli.report import report
from harness.cli.run import run
from harness.errors import HarnessError

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS: tuple[click.Command, ...] = (run, list_scenarios, report, doctor)

_INTERRUPTED, _INTERNAL, _USAGE = 2, 3, 4


class _InThisOrder(click.Group):
    """Lists commands in the order of :data:`COMMANDS`: the one that everybody needs first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_InThisOrder,
    commands={str(command.name): command for command in COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, package_name="torch-leak-harness", prog_name="harness")
def cli() -> None:
    """Find out whether a PyTorch program leaks, why, at which line, who holds it, and what to change.

    \b
    harness run train_step.py       run a file with a step(i) and judge it
    harness run held_reference      run a bundled scenario
    harness list                    what is bundled
    harness doctor                  what works here, what does not, and why
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command in *arguments* (default: this process's) and exit with its code."""
    printing.open_standard_streams()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job ends as a Ctrl-C does
    try:
        code = _run(arguments)
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = cli.main(args=arguments, prog_name="harness", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        with contextlib.suppress(OSError):  # a stderr that is full, or gone
            error.show()
        return _USAGE
    except HarnessError as error:
        printing.print_error(str(error), error.help)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        printing.tell("harness: interrupted")
        return _INTERRUPTED
    except Exception as error:
        printing.print_internal_error(error)
        return _INTERNAL


if __name__ == "__main__":
    main()
