"""Writes to stdout and stderr: results to the one, everything else to the other."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import TextIO

from harness.errors import UsageError

__all__ = [
    "has_color",
    "open_standard_streams",
    "print_error",
    "print_internal_error",
    "print_result",
    "tell",
    "width",
]

_PLAIN_WIDTH = 108
_WIDEST = 140


def print_result(text: str) -> None:
    """*text* to stdout: in a file or a pipe as UTF-8 whatever the locale (JSON has no other encoding), on a terminal
    in the terminal's own. A reader that has gone away (``harness run | head``) is no error: the exit code still tells
    the verdict. :class:`UsageError` where stdout cannot take it."""
    encoding = (sys.stdout.encoding if sys.stdout.isatty() else None) or "utf-8"
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(encoding, errors="backslashreplace"))
        sys.stdout.flush()
    except OSError as error:
        # Python flushes stdout once more at exit, and would print a traceback there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise UsageError(
                f"stdout: cannot be written: {error.strerror or error}",
                help="Is there room on the disk? Send the output elsewhere, or keep the run with --out FOLDER.",
            ) from error


def open_standard_streams() -> None:
    """Put the null device where stdin, stdout or stderr was closed (``>&-``): what is written there is not wanted.

    Left closed, their numbers would go to the next files that are opened, and what is printed into those.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.fstat(number)
                continue  # something of ours has it by now, which would not be helped
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, so this one
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - open as long as the process is


def tell(text: str) -> None:
    """One line for people, to stderr; a stderr that is gone is no error."""
    try:
        print(text.encode(errors="backslashreplace").decode(), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


def print_error(message: str, help: str) -> None:
    """What happened, and below it what to try. Both may hold names from outside, so they are escaped."""
    from harness.render.escaped import escaped

    for line in (f"harness: {message}", *(f"  {line}" for line in help.splitlines())):
        tell(escaped(line))


def print_internal_error(error: Exception) -> None:
    """That the tool itself failed, how, and what to do with it."""
    import traceback

    from harness.render.escaped import escaped

    tell(f"harness: internal error: {type(error).__name__}: {escaped(str(error))}")
    tell("  This is a fault of the tool and not of your code. Please report it, with the lines below:")
    for line in "".join(traceback.format_exception(error)).splitlines():
        tell(f"  {escaped(line)}")


def has_color(stream: TextIO) -> bool:
    """Whether *stream* is a terminal that shows colors and nobody asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width(stream: TextIO) -> int:
    """Columns: the terminal's, up to what can still be read in one line; 108 in a file or a pipe."""
    return min(shutil.get_terminal_size().columns, _WIDEST) if stream.isatty() else _PLAIN_WIDTH
