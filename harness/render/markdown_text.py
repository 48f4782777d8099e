"""Text from outside as Markdown that shows it, and does nothing else: no link, no mention, no HTML, no formula."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from harness.render.escaped import escaped

__all__ = ["code", "code_cell", "fenced", "folded", "table", "text"]

_BREAK = "<!-- -->"
_SPECIAL = re.compile(r"[\\`*\[\]~|]|(?<![^\W_])_|_(?![^\W_])")
_ACTS = re.compile(
    r"@(?=\w)|[#!%](?=\d)|\bgh-(?=\d)|(?<=\w)(?=://)|(?<=www)(?=\.)|:(?=[\w+-]+:)",
    re.IGNORECASE,
)
"""What GitHub and GitLab turn into mentions, issues, links and pictures after Markdown was read: a comment between two
letters that belong together is seen by nobody, and stops them."""


def text(told: str) -> str:
    """*told* in a paragraph, a list or a cell; only what would act is escaped, so that the source stays readable."""
    parts = _split(escaped(told))
    return _BREAK.join(_plain(part) for part in parts)


def code(told: str) -> str:
    """*told* as code: a fence longer than any in it. Nothing is nothing: there is no empty code."""
    shown = escaped(told)
    if not shown:
        return ""
    fence = "`" * (_longest_run(shown) + 1)
    # GitHub reads $`...`$ as a formula, so a space keeps dollars from a fence as it does backquotes.
    pad = " " if shown.strip() and {shown[0], shown[-1]} & {"`", "$", " "} else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def code_cell(told: str) -> str:
    """*told* as code in a cell of a table, which takes the backslash before a bar away again."""
    return code(told).replace("|", "\\|")


def fenced(lines: Iterable[str], *, indent: str = "") -> str:
    """*lines* as a block of code, each as it is but for what a terminal would act on."""
    shown = [escaped(line) for line in lines]
    fence = "`" * max(3, max((_longest_run(line) for line in shown), default=0) + 1)
    return "\n".join(f"{indent}{line}".rstrip() for line in (f"{fence}text", *shown, fence))


def folded(summary: str, body: str) -> str:
    """*body* (Markdown) behind a line (text) that opens it."""
    title = _BREAK.join(html.escape(part, quote=False) for part in _split(escaped(summary)))
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown of one line: :func:`text` and :func:`code_cell` give such."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _split(shown: str) -> list[str]:
    """*shown* cut after (or within) what would act."""
    cuts = [found.end() for found in _ACTS.finditer(shown)]
    return [shown[start:end] for start, end in zip([0, *cuts], [*cuts, len(shown)], strict=True)]


def _plain(part: str) -> str:
    quoted = html.escape(_SPECIAL.sub(lambda found: f"\\{found[0]}", part), quote=False).replace("&gt;", ">")
    return quoted.replace("$", "<span>$</span>")


def _longest_run(shown: str) -> int:
    return max((len(run) for run in re.findall(r"`+", shown)), default=0)
