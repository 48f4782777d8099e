"""Holds one judged run against its case's label: outcome, cause, line, holder, bytes, look-alike.

Rules, where a label leaves room:

- **cause**: some finding's cause is one that the label calls right.
- **line**: a piece that the label gives occurs in a frame's source (``allocated_at``, ``retained_at``) or in
  ``held_by``, whitespace collapsed. A frame's source is one physical line, so a label that goes on where the source
  ends is met too.
- **holder**: every word that the label has in single quotes occurs in one finding's ``held_by``. A label without such
  a word is met where anything is named, or where it says that there is nothing to name ("none", "lost"). Where it
  names an owner below Python (C++, TorchScript, dynamo, the collector's permanent generation, native buffers) that no
  path of references can reach, and the finding's explanation says so too, the run does not count for or against.
- **bytes**: within 10 % of the label: the largest finding, all findings with its cause together, or all together.
- **second**: another leak in the same case is scored by the same rules, its bytes against each single finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from harness.model.allocation import Frame
from harness.model.report import Finding, RunReport
from tests.quality.labels import Label, quoted

__all__ = ["BOUNDS", "QUESTIONS", "Mark", "below_bounds", "outcome_is_right", "score", "shares"]

QUESTIONS = ("outcome", "cause", "line", "holder", "bytes", "look-alike")

BOUNDS = {"outcome": 1.0, "cause": 0.95, "line": 0.95, "holder": 0.90, "bytes": 0.95}
"""The least share of right answers. How a look-alike is called is counted, and not bounded."""

_BYTES_TOLERANCE = 0.10
_LEAST_BEGINNING = 8  # characters: a shorter source line begins too many labels
_BELOW_PYTHON = re.compile(r"C\+\+|\bC heap|\bnative|TorchScript|dynamo|permanent generation|not collectable", re.I)


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One question about one run: ``right`` is None where it does not count; what was wanted, and what was said."""

    scenario: str
    variant: str
    question: str
    right: bool | None
    wanted: str
    said: str
    unquoted: bool = False


def outcome_is_right(run: RunReport, label: Label) -> bool:
    """Leak where there is one, and in no other run; a run that failed is never right."""
    return (run.outcome == "leak") == (label.leak and run.variant == "step") and run.outcome != "failed"


def score(run: RunReport, label: Label) -> tuple[Mark, ...]:
    """All that the label asks of this run."""
    leaks = label.leak and run.variant == "step"
    marks = [
        _mark(
            run, "outcome", outcome_is_right(run, label), "leak" if leaks else "no leak", f"{run.outcome}: {_why(run)}"
        )
    ]
    if leaks:
        marks += _leak_marks(run, label)
        if label.second is not None:
            marks += _leak_marks(run, label.second, second=True)
    elif run.variant == "step" and label.look_alikes:
        named = tuple(seen.look_alike for seen in run.look_alikes)
        right = any(name in label.look_alikes for name in named)
        marks.append(_mark(run, "look-alike", right, " or ".join(label.look_alikes), ", ".join(named) or "none"))
    return tuple(marks)


def _leak_marks(run: RunReport, label: Label, *, second: bool = False) -> list[Mark]:
    findings = run.findings
    causes = ", ".join(str(finding.cause or finding.fault) for finding in findings) or "nothing"
    lines = " | ".join(source for finding in findings for source in _sources(finding)) or "no line"
    marks = [_mark(run, "cause", any(f.cause in label.causes for f in findings), " or ".join(label.causes), causes)]
    if label.lines:
        right = any(_names_line(finding, piece) for finding in findings for piece in label.lines)
        marks.append(_mark(run, "line", right, " or ".join(label.lines), lines))
    marks.append(_holder_mark(run, label))
    if label.bytes_per_step is not None:
        said = tuple(finding.bytes_per_step for finding in findings)
        right = any(_close(n, label.bytes_per_step) for n in (said if second else _amounts(findings)))
        shown = ", ".join(f"{n:.0f}" for n in said) or "nothing"
        marks.append(_mark(run, "bytes", right, f"{label.bytes_per_step:.0f}", shown))
    if not second:
        return marks
    return [msgspec.structs.replace(mark, scenario=f"{mark.scenario} (second)") for mark in marks]


def _holder_mark(run: RunReport, label: Label) -> Mark:
    words = quoted(label.holder)
    paths = [_path(finding) for finding in run.findings if finding.held_by is not None]
    right: bool | None = any(all(word in path for word in words) for path in paths)
    if not words:
        right = bool(paths) or re.match(r"none\b|lost\b", label.holder) is not None
        if (
            not right
            and _BELOW_PYTHON.search(label.holder)
            and any(_BELOW_PYTHON.search(finding.explanation) for finding in run.findings)
        ):
            right = None
    mark = _mark(run, "holder", right, label.holder, " | ".join(paths) or "nothing")
    return msgspec.structs.replace(mark, unquoted=not words)


def _mark(run: RunReport, question: str, right: bool | None, wanted: str, said: str) -> Mark:
    return Mark(scenario=run.scenario, variant=run.variant, question=question, right=right, wanted=wanted, said=said)


def _why(run: RunReport) -> str:
    return "; ".join((*run.reasons, *run.notes))[:600]


def _path(finding: Finding) -> str:
    held = finding.held_by
    return "" if held is None else " ".join(filter(None, (held.text, held.suspect, *held.links)))


def _sources(finding: Finding) -> tuple[str, ...]:
    retained: tuple[Frame, ...] = getattr(finding, "retained_at", ())
    return tuple(_collapsed(frame.source) for frame in (*finding.allocated_at, *retained) if frame.source)


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _names_line(finding: Finding, piece: str) -> bool:
    wanted = _collapsed(piece)
    if wanted in _collapsed(_path(finding)):
        return True
    return any(
        wanted in source or (len(source) >= _LEAST_BEGINNING and wanted.startswith(source))
        for source in _sources(finding)
    )


def _amounts(findings: Iterable[Finding]) -> tuple[float, ...]:
    """What may be meant by "the leak": its largest finding, all of that one's cause, all findings."""
    ordered = sorted(findings, key=lambda finding: -finding.bytes_per_step)
    if not ordered:
        return ()
    alike = sum(finding.bytes_per_step for finding in ordered if finding.cause == ordered[0].cause)
    return ordered[0].bytes_per_step, alike, sum(finding.bytes_per_step for finding in ordered)


def _close(said: float, wanted: float) -> bool:
    return abs(said - wanted) <= _BYTES_TOLERANCE * wanted


def shares(marks: Iterable[Mark]) -> dict[str, tuple[int, int]]:
    """(right, counted) for each question that was asked."""
    counted = [mark for mark in marks if mark.right is not None]
    asked = {question: [m for m in counted if m.question == question] for question in QUESTIONS}
    return {question: (sum(bool(m.right) for m in of), len(of)) for question, of in asked.items() if of}


def below_bounds(marks: Iterable[Mark]) -> tuple[str, ...]:
    """Questions that were answered right too rarely; none where all is well."""
    return tuple(
        question
        for question, (right, counted) in shares(marks).items()
        if question in BOUNDS and right < BOUNDS[question] * counted
    )
