"""The one error tree: what happened, with the value and the place; and what to try.

``str(error)`` is the sentence; ``error.help`` lists likely causes and remedies. The command line prints
both and exits with ``error.exit_code``. Users' mistakes raise these; ``assert`` is for our own invariants.
"""

from __future__ import annotations

__all__ = [
    "BadUnitError",
    "BudgetExceededError",
    "CaptureError",
    "EscapedTensorsError",
    "GradientContextError",
    "GradientError",
    "HarnessError",
    "MissingPackageError",
    "NothingMeasuredError",
    "RecordingError",
    "ScenarioError",
    "ScenarioNotFoundError",
    "ScopeClosedError",
    "ScopeContextError",
    "ScopeError",
    "UsageError",
    "UseAfterCloseError",
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


class ScopeError(HarnessError, RuntimeError):
    """What a resource scope raises. A RuntimeError too, as all that torch raises on a wrong use of tensors is."""

    default_help = ""

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message, help=help or self.default_help)


class ScopeClosedError(ScopeError):
    """A scope is used after it was closed: which one, closed by whom, where, when."""

    default_help = "Open a child scope for each repetition, or close this one later; see where it was closed."


class UseAfterCloseError(ScopeError):
    """A tensor is used after it was closed: created where, closed where, by which scope, used by which operator."""

    default_help = (
        "Hand on what the next round needs with scope.keep(tensor) before its scope ends, or copy out what you need "
        "(.item(), .tolist(), .clone() under the outer scope)."
    )


class BudgetExceededError(ScopeError):
    """A scope was about to own more bytes than its budget, or anything new while it was capped."""

    default_help = (
        "Free what is no longer needed before this line, work in smaller batches, or raise the scope's budget."
    )


class EscapedTensorsError(ScopeError):
    """Storages that a scope owned are still alive at its end, and it was told to raise then."""

    default_help = (
        "If it is meant to live on, hand it over: scope.keep(tensor). If not, drop the name or container that holds "
        "it before the scope ends, or keep a number (.item()) instead of a tensor."
    )


class ScopeContextError(ScopeError):
    """A scope is entered or left out of order, or in another context than it belongs to."""

    default_help = (
        "A scope that crosses an await goes through `await scope.awaiting(...)`, one that crosses a yield through "
        "`for x in scope.iterate(...)`, and a thread is started with scope.run_in_thread(...)."
    )


class GradientError(HarnessError, RuntimeError):
    """A gradient that would be missing, wrong or not a number. A RuntimeError too, as torch's own words on it are.

    ``fault`` is its kind, in the spelling of the reports; ``parameters`` the names of those that it is about, and
    ``parameter`` the first of them; ``factor`` how many times too large they are (gradients_not_zeroed). Each is None,
    or empty, where it has no meaning.
    """

    default_help = ""

    def __init__(
        self,
        message: str,
        *,
        fault: str | None = None,
        parameters: tuple[str, ...] = (),
        factor: float | None = None,
        help: str = "",
    ) -> None:
        super().__init__(message, help=help or self.default_help)
        self.fault = fault
        self.parameters = parameters
        self.factor = factor

    @property
    def parameter(self) -> str | None:
        return self.parameters[0] if self.parameters else None


class GradientContextError(GradientError):
    """A gradient collector is entered, left or used where it cannot be: inside another one, in another thread."""

    default_help = (
        "Leave the first collector before the second is entered: one is active in a thread or task at a time, and one "
        "can be for several modules: GradientCollector([*a.parameters(), *b.parameters()], on_exit=...)."
    )
