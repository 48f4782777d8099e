"""Facts as plain lines of text, for places that keep line breaks and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.report import RunReport
from harness.render.escaped import cut, tail
from harness.render.facts import Fact
from harness.render.view import comparison_words

__all__ = ["plain_facts", "problem_text", "reasons_of"]

_LABEL_COLUMNS = 10
_MOST_TEXT = 1000
_MOST_TRACE_LINES = 40


def plain_facts(facts: Iterable[Fact]) -> str:
    """One line a fact, its label in front; what must keep its line breaks stands below, indented."""
    lines: list[str] = []
    for fact in facts:
        lines.append(f"{fact.label:<{_LABEL_COLUMNS}}  {fact.text}")
        lines += [" " * (_LABEL_COLUMNS + 2) + line for line in fact.verbatim]
    return "\n".join(line.rstrip() for line in lines)


def reasons_of(run: RunReport) -> tuple[str, ...]:
    """Why the verdict is what it is; where a ratio was expected, also what the two halves came to."""
    told = tuple(cut(reason, _MOST_TEXT) for reason in run.reasons)
    if run.comparison is None or run.expected.at_least is None:
        return told
    return (*told, comparison_words(run.comparison))


def problem_text(message: str, help: str) -> tuple[str, str]:
    """A problem's first line; and its other lines (a traceback) with the help below them."""
    first, _, rest = message.partition("\n")
    return cut(first, _MOST_TEXT), "\n".join((*tail(rest, _MOST_TRACE_LINES), cut(help, _MOST_TEXT)))
