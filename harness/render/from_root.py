"""The same report with every path as the repository names it, for places where the machine that measured is gone."""

from __future__ import annotations

import re

from msgspec.structs import replace

from harness.model.allocation import Frame
from harness.model.report import Finding, Report, RunReport
from harness.render.places import roots_of

__all__ = ["from_root"]


def from_root(report: Report) -> Report:
    """*report*; in frames and sentences nothing is left of the folder that the tool ran in, where that is known."""
    any_root = next((root for run in report.runs for root in roots_of(run)), None)
    if any_root is None:
        return report
    # A run without a frame of its own file (it raised, it was stable) ran where the others did.
    return replace(report, runs=tuple(_run(run, next(roots_of(run), any_root)) for run in report.runs))


def _run(run: RunReport, root: str) -> RunReport:
    here = re.compile(rf"(?<![\w./-]){re.escape(root)}")  # not where it is the end of a longer path
    return replace(
        run,
        reasons=_texts(run.reasons, here),
        notes=_texts(run.notes, here),
        findings=tuple(_finding(finding, here) for finding in run.findings),
        peak_parts=tuple(replace(part, allocated_at=_frames(part.allocated_at, here)) for part in run.peak_parts),
        look_alikes=tuple(replace(like, evidence=here.sub("", like.evidence)) for like in run.look_alikes),
        ending=replace(run.ending, detail=here.sub("", run.ending.detail) if run.ending.detail else run.ending.detail),
        stderr=here.sub("", run.stderr),
    )


def _finding(finding: Finding, here: re.Pattern[str]) -> Finding:
    return replace(
        finding,
        explanation=here.sub("", finding.explanation),
        fix=here.sub("", finding.fix),
        allocated_at=_frames(finding.allocated_at, here),
        retained_at=_frames(finding.retained_at, here),
    )


def _frames(frames: tuple[Frame, ...], here: re.Pattern[str]) -> tuple[Frame, ...]:
    return tuple(replace(frame, path=here.sub("", frame.path, count=1)) for frame in frames)


def _texts(texts: tuple[str, ...], here: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(here.sub("", text) for text in texts)
