"""The options that several commands share: each exists once and means the same wherever it appears."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness import units
from harness.errors import BadUnitError
from harness.render import FORMATS

__all__ = [
    "judging",
    "measuring",
    "output",
    "output_format",
    "quiet",
    "selecting",
    "targets",
    "terminal_or_json",
    "variant",
]

if TYPE_CHECKING:
    _ParamType = click.ParamType[float]
else:
    _ParamType = click.ParamType  # click before 8.4 cannot be subscripted at run time

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MOST_STEPS = 10**12  # years of steps that take a microsecond; above 2**63 they could not even be asked for
_KINDS = ("stable", "leak", "look_alike", "fault", "slower", "higher_peak", "more_allocations", "gradient_wrong")


class _Quantity(_ParamType):
    """A size or a duration above zero, read by units.py and by nothing else."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if not isinstance(value, str):
            return float(value)  # the default, which is a number already
        try:
            quantity = self._parse(value)
        except BadUnitError as error:
            self.fail(f"{error}. {error.help}", param, ctx)
        if not quantity:
            self.fail(f"{value!r} is nothing: it must be above zero.", param, ctx)
        return quantity


def _together(*decorators: Callable[[Any], Any]) -> Callable[[_Function], _Function]:
    def decorate(function: _Function) -> _Function:
        for decorator in reversed(decorators):  # click lists them in the order in which they stand here
            function = decorator(function)
        return function

    return decorate


targets = click.argument("targets", nargs=-1, metavar="[FILE|FOLDER|NAME]...")

variant = click.option(
    "--variant",
    type=click.Choice(("step", "fixed_step", "both")),
    default="both",
    show_default=True,
    help="Which half of each scenario. FILE::fixed_step asks for one half of one file.",
)

output_format = click.option(
    "--format",
    "format",
    type=click.Choice(FORMATS),
    default="terminal",
    show_default=True,
    help="How results are printed on stdout: json and all after it print nothing else. github also adds to the job's "
    "summary, where GITHUB_STEP_SUMMARY names one.",
)

terminal_or_json = click.option(
    "--format",
    "format",
    type=click.Choice(("terminal", "json")),
    default="terminal",
    show_default=True,
    help="How results are printed on stdout. json prints nothing but the JSON.",
)

quiet = click.option("--quiet", is_flag=True, help="No progress on stderr, only errors.")

measuring = _together(
    click.option(
        "--steps",
        type=click.IntRange(1, _MOST_STEPS),
        metavar="N",
        help="Measured steps. [default: as many as a verdict needs]",
    ),
    click.option(
        "--warmup",
        type=click.IntRange(0, _MOST_STEPS),
        metavar="N",
        help="Steps before them. [default: found from the readings]",
    ),
    variant,
    click.option(
        "--timeout",
        type=_Quantity("duration", units.parse_duration),
        default=300.0,
        help="The longest that one process may take: 90, 90s, 2m. [default: 5m]",
    ),
    click.option(
        "--memory-limit",
        type=_Quantity("size", units.parse_bytes),
        help="What a process may add to torch's own memory: 4 GiB. [default: most of what is free]",
    ),
    click.option(
        "--start",
        type=click.Choice(("fork", "spawn")),
        default="fork",
        show_default=True,
        help="fork: from a server that has imported torch. spawn: a new Python each, slower.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        metavar="N",
        default=0,
        show_default=True,
        help="Seeds every process.",
    ),
    click.option(
        "--native/--no-native",
        default=None,
        help="Native stacks of every leak, or of none. [default: where neither tensors nor Python objects grow]",
    ),
    click.option(
        "--confirm/--no-confirm",
        default=None,
        help="Cut the suspect edge in one more process, to see growth stop. [default: where it takes two seconds]",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1, 64),
        metavar="N",
        help="Scenarios at once; those that compare speeds run alone. [default: 1; bundled ones: one a CPU]",
    ),
    click.option("--faults", is_flag=True, help="Let gradient faults that raise nothing decide the outcome too."),
)

selecting = _together(
    click.option(
        "--only",
        type=click.Choice(_KINDS),
        multiple=True,
        metavar="KIND",
        help=f"Only scenarios that expect this: {', '.join(_KINDS)}. Repeatable.",
    ),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only scenarios with this tag. Repeatable."),
)

judging = _together(
    click.option(
        "--inconclusive",
        type=click.Choice(("pass", "fail")),
        default="pass",
        show_default=True,
        help="Whether a run without a verdict fails the command (exit code 10).",
    ),
    click.option(
        "--known",
        type=click.Choice(("pass", "fail")),
        default="pass",
        show_default=True,
        help="Whether growth that is known to come from a library fails it (exit code 1).",
    ),
)

output = _together(
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="Keep the report and the recordings here; an earlier run's are replaced as a whole.",
    ),
    output_format,
    quiet,
)
