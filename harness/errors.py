"""The one error tree: what happened, with the value and the place; and what to try.

``str(error)`` is the sentence; ``error.help`` lists likely causes and remedies. The command line prints
both and exits with ``error.exit_code``. Users' mistakes raise these; ``assert`` is for our own invariants.
"""

from __future__ import annotations

__all__ = [
    "BadUnitError",
    "CaptureError",
    "HarnessError",
    "MissingPackageError",
    "NothingMeasuredError",
    "RecordingError",
    "ScenarioError",
    "ScenarioNotFoundError",
    "UsageError",
]


class HarnessError(Exception):
    """Root of every error that this package raises on purpose.

    ``help`` is a sentence or two on what to try; ``exit_code`` is what the command line returns.
    """

    exit_code = 3

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class UsageError(HarnessError):
    """Wrong arguments, configuration or files: the caller can mend it (exit code 4)."""

    exit_code = 4


class BadUnitError(UsageError, ValueError):
    """A size, rate or share that cannot be read as one."""


class ScenarioNotFoundError(UsageError):
    """A path or bundled name that leads to no scenario."""


class ScenarioError(UsageError):
    """A file that was found and cannot be run as a scenario: no ``step``, a syntax error, an import error."""


class MissingPackageError(ScenarioError):
    """A scenario needs a package that is not installed here."""


class RecordingError(UsageError):
    """A saved recording or report that cannot be read."""


class NothingMeasuredError(HarnessError):
    """There was nothing to run (exit code 5)."""

    exit_code = 5


class CaptureError(HarnessError):
    """The measuring machinery itself failed: the server did not start, or its protocol broke (exit code 3).

    ``server_died`` is True where the process that starts subjects was lost under one: the next gets a new one.
    ``only_this_subject`` is True where nothing keeps the next from being measured.
    """

    def __init__(
        self, message: str, *, help: str = "", server_died: bool = False, only_this_subject: bool = False
    ) -> None:
        super().__init__(message, help=help)
        self.server_died = server_died
        self.only_this_subject = only_this_subject
