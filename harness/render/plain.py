"""Facts as plain lines of text, for places that keep line breaks and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from harness.render.escaped import cut, tail
from harness.render.facts import Fact

__all__ = ["plain_facts", "problem_text"]

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


def problem_text(message: str, help: str) -> tuple[str, str]:
    """A problem's first line; and its other lines (a traceback) with the help below them."""
    first, _, rest = message.partition("\n")
    return cut(first, _MOST_TEXT), "\n".join((*tail(rest, _MOST_TRACE_LINES), cut(help, _MOST_TEXT)))
