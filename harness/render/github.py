"""The report as workflow commands: annotations at the lines of a pull request, on GitHub's pages.

GitHub shows ten of a kind a step and drops the rest in silence, so the worst ten stand here, and a last line says how
many there are. The escapes are those of https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from harness.model.report import Finding, Problem, Report, RunReport
from harness.render.escaped import cut
from harness.render.facts import finding_facts, finding_line
from harness.render.from_root import from_root
from harness.render.places import Place, main_place, run_place
from harness.render.plain import plain_facts, problem_text, reasons_of
from harness.render.view import closing, run_title, standing, verdict_words

__all__ = ["render"]

_MOST = 10
_LEVELS = {"unexpected": "error", "inconclusive": "warning", "known": "notice"}
_ORDER = ("error", "warning", "notice")
_TOLD = ("grows", "held by", "why", "fix")
_LONGEST_PROPERTY = 300


class _Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """``weight`` orders those of one level: bytes a step, and before them all what has no figure."""

    level: str
    title: str
    message: str
    place: Place | None = None
    weight: float = float("inf")


def render(report: Report) -> str:
    """One ``::error file=...,line=...,title=...::message`` a finding; last a plain line that sums up."""
    report = from_root(report)
    found = [*_troubles(report), *(a for run in report.runs for a in _annotations(run))]
    found.sort(key=lambda annotation: (_ORDER.index(annotation.level), -annotation.weight))
    lines = [_command(annotation) for annotation in found[:_MOST]]
    more = len(found) - _MOST
    left_out = f" {more} more {'annotation is' if more == 1 else 'annotations are'} left out." if more > 0 else ""
    return "\n".join((*lines, f"harness: {closing(report)}{left_out}", ""))


def _annotations(run: RunReport) -> Iterator[_Annotation]:
    counts = standing(run)
    if counts == "expected":
        return
    for finding in run.findings:
        level = "notice" if finding.known is not None else _LEVELS[counts]
        yield _Annotation(
            level=level,
            title=f"{run_title(run)}: {verdict_words(run)}",
            message=_message(finding, run),
            place=main_place(finding, run),
            weight=finding.bytes_per_step,
        )
    if not run.findings:
        message = "\n".join(reasons_of(run)) or verdict_words(run)
        title = f"{run_title(run)}: {verdict_words(run)}"
        yield _Annotation(level=_LEVELS[counts], title=title, message=message, place=run_place(run))


def _message(finding: Finding, run: RunReport) -> str:
    facts = [fact for fact in finding_facts(finding, run) if fact.label in _TOLD]
    return f"{finding_line(finding, run)}\n{plain_facts(facts)}"


def _troubles(report: Report) -> Iterator[_Annotation]:
    told: list[tuple[Problem, str]] = [(problem, "asked for and not found") for problem in report.problems]
    told += [(error, "measuring failed") for error in report.errors]
    for problem, title in told:
        message, rest = problem_text(problem.message, problem.help)
        yield _Annotation(level="error", title=f"{cut(problem.target, 200)}: {title}", message=f"{message}\n{rest}")
    if report.interrupted:
        yield _Annotation(level="warning", title="interrupted", message=closing(report))


def _command(annotation: _Annotation) -> str:
    properties = []
    if annotation.place is not None:
        properties.append(f"file={_property(annotation.place.path)}")
        if annotation.place.line is not None:
            properties.append(f"line={annotation.place.line}")
    properties.append(f"title={_property(annotation.title)}")
    return f"::{annotation.level} {','.join(properties)}::{_data(annotation.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(cut(text, _LONGEST_PROPERTY)).replace(":", "%3A").replace(",", "%2C")
