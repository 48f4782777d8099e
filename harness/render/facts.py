"""A run taken apart into labelled sentences, in the order in which a reader wants them. No layout lives here."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from harness.model.allocation import Frame
from harness.model.report import Conservation, Finding, RunReport
from harness.render.escaped import cut, escaped, tail
from harness.render.gradient_words import ALARMING, gradient_lines, gradient_words
from harness.render.sparkline import main_curve, sparkline
from harness.render.view import comparison_words, finding_growth, next_command, peak_words
from harness.units import format_bytes, format_count, format_rate

__all__ = ["Fact", "brief", "finding_facts", "finding_line", "run_facts"]

_MOST_TEXT = 1000
_LONGEST_SENTENCE = 4096
_MOST_FRAMES = 5
_LEAST_SHARE_TOLD = 0.01


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled sentence; ``verbatim`` are lines below it whose breaks and blanks count (source, a traceback)."""

    label: str
    text: str
    verbatim: tuple[str, ...] = ()


def finding_facts(finding: Finding, run: RunReport) -> Iterator[Fact]:
    """Cause, growth, the allocating line, the holder, why, and what to change."""
    kind = "cause" if finding.cause else "fault"
    cutting = {None: "", True: "; cutting the reference stopped it", False: "; cutting the reference did not stop it"}
    yield Fact(label=kind, text=_text(finding.cause or finding.fault) + cutting[finding.confirmed_by_cutting])
    if finding.known is not None:
        known = "; ".join(f"{name}: {value}" for name, value in finding.known.items())
        yield Fact(label="known", text=_text(f"growth of a library, not of this code. {known}"))
    if finding.bytes_per_step or finding.objects_per_step or finding.retained_bytes:
        yield Fact(label="grows", text=_growth(finding))
    if finding.allocated_at:
        yield Fact(
            label="allocated", text=_place(finding.allocated_at[0], run), verbatim=_source(finding.allocated_at, run)
        )
    if finding.retained_at and finding.retained_at[:1] != finding.allocated_at[:1]:
        at = finding.retained_at
        yield Fact(label="kept at", text=_place(at[0], run), verbatim=_source(at, run))
    if finding.native_stack:
        yield Fact(label="natively", text=_natively(finding.native_stack))
    if finding.held_by is not None:
        suspect = finding.held_by.suspect
        yield Fact(
            label="held by", text=_text(finding.held_by.text) + (f"; grows at {_text(suspect)}" if suspect else "")
        )
    yield Fact(label="why", text=_sentence(finding.explanation))
    yield Fact(label="fix", text=_sentence(finding.fix))


def run_facts(run: RunReport) -> Iterator[Fact]:
    """What belongs to the run as a whole: its curve, the verdict's reasons, what it is not, how it ended, what next."""
    curve = main_curve(run)
    if curve is not None and run.outcome in ("leak", "inconclusive"):
        yield Fact(label="curve", text=sparkline(curve))
    for k, reason in enumerate(run.reasons):
        yield Fact(label="" if k else "because", text=_sentence(_nearer(reason, run)))
    for look_alike in run.look_alikes:
        told = f"{look_alike.look_alike}, {format_bytes(look_alike.bytes)}: {look_alike.evidence}"
        yield Fact(label="look-alike", text=_sentence(told))
    if run.comparison is not None:
        yield Fact(label="compared", text=_sentence(comparison_words(run.comparison)))
    peak = peak_words(run)
    if peak is not None:
        yield Fact(label="peak", text=peak, verbatim=_largest_part(run))
    if run.conservation is not None and run.outcome in ("leak", "inconclusive"):
        yield Fact(label="memory", text=_account(run.conservation))
    if run.gradients is not None:
        yield Fact(label="gradients", text=gradient_words(run.gradients), verbatim=gradient_lines(run.gradients))
    yield from _ending(run)
    for note in run.notes:
        yield Fact(label="note", text=_sentence(note))
    yield Fact(label="next", text=next_command(run))


def brief(run: RunReport) -> Iterator[str]:
    """A run that ended as expected, in as few lines as say what was seen; nothing where there is nothing to say."""
    for finding in run.findings:
        yield finding_line(finding, run)
        if finding.fault is not None:
            yield _sentence(finding.explanation)
    for look_alike in run.look_alikes:
        yield f"{_text(look_alike.look_alike)}, {format_bytes(look_alike.bytes)}: {_text(look_alike.evidence)}"
    if run.comparison is not None and run.expected.at_least is not None:
        yield comparison_words(run.comparison)
    peak = peak_words(run) if run.expected.kind == "higher_peak" else None
    if peak is not None:
        yield f"peak {peak}"
    if run.gradients is not None and any(p.trend in ALARMING for p in run.gradients.parameters):
        yield f"gradients {gradient_words(run.gradients)}"


def finding_line(finding: Finding, run: RunReport) -> str:
    """``held_reference 16.0 KiB/step at train.py:12 in step, held by module train > history: list > [*]``."""
    place = f" at {_place(finding.allocated_at[0], run)}" if finding.allocated_at else ""
    holder = f", held by {_text(finding.held_by.text)}" if finding.held_by is not None else ""
    grows = finding_growth(finding)
    return f"{_text(finding.cause or finding.fault)}{'' if grows == '-' else ' ' + grows}{place}{holder}"


def _natively(stack: tuple[str, ...]) -> str:
    """The innermost functions by their names alone, and how many more there are."""
    names = [cut(name.partition("(")[0] or name, 60) for name in stack[:_MOST_FRAMES]]
    more = len(stack) - len(names)
    return " < ".join(names) + (f" < {more} more" if more else "")


def _growth(finding: Finding) -> str:
    parts = [finding_growth(finding)]
    if finding.tensor_bytes_per_step and finding.tensor_bytes_per_step != finding.bytes_per_step:
        parts.append(f"of it {format_rate(finding.tensor_bytes_per_step)} in tensors")
    if finding.objects_per_step and finding.bytes_per_step:
        objects = "object" if finding.objects_per_step == 1 else "objects"
        parts.append(f"{format_count(finding.objects_per_step)} {objects} a step")
    where = f" on {_text(finding.device)}" if finding.device else ""
    if finding.retained_bytes:
        parts.append(f"{format_bytes(finding.retained_bytes)} kept in all{where}")
    return ", ".join(parts)


def _place(frame: Frame, run: RunReport) -> str:
    """``train.py:12 in step``; the scenario's own file as the report names it everywhere else."""
    path = run.path if frame.path.endswith(f"/{run.path}") else frame.path
    return f"{cut(path, 120)}:{frame.line} in {cut(frame.function, 80)}"


def _nearer(text: str, run: RunReport) -> str:
    """The scenario's own file in a sentence as the report names it everywhere else, and not from the root."""
    if len(text) > _LONGEST_SENTENCE:
        return text  # hostile: searching it takes time by its square
    return re.sub(rf"/\S*/{re.escape(run.path)}(?=:\d)", lambda _: run.path, text)


def _source(frames: tuple[Frame, ...], run: RunReport) -> tuple[str, ...]:
    """The allocating line, then who called it."""
    first = [f"  {cut(frames[0].source, 200)}"] if frames[0].source else []
    return (*first, *(f"called by {_place(frame, run)}" for frame in frames[1:_MOST_FRAMES]))


def _largest_part(run: RunReport) -> tuple[str, ...]:
    """The line that allocated most of what was alive at the peak."""
    part = next((part for part in run.peak_parts if part.allocated_at), None)
    if part is None:
        return ()
    source = part.allocated_at[0].source
    told = f"largest part: {part.role}, {format_bytes(part.bytes)}, {_place(part.allocated_at[0], run)}"
    return (told, *([f"  {cut(source, 200)}"] if source else []))


def _account(account: Conservation) -> str:
    """The parts that matter, the largest first; then what is not in the sum, and what nobody accounts for."""
    grew = account.rss_growth_bytes
    largest = max((abs(size) for size in account.parts.values()), default=0)
    least = max(_LEAST_SHARE_TOLD * max(abs(grew), largest), 1)
    told = [
        f"{escaped(name).replace('_', ' ')} {format_bytes(size)}"
        for name, size in sorted(account.parts.items(), key=lambda part: -abs(part[1]))
        if abs(size) >= least
    ]
    if abs(account.unexplained_bytes) >= least:
        told.append(f"unexplained {format_bytes(account.unexplained_bytes)}")
    if not told:
        told.append("in no part that is worth telling")
    sentence = f"Resident memory {'grew' if grew >= 0 else 'fell'} by {format_bytes(abs(grew))}: {', '.join(told)}"
    if account.children_bytes:
        sentence += f"; children {format_bytes(account.children_bytes)}"
    for name, sizes in account.devices.items():
        parts = ", ".join(f"{escaped(what)} {format_bytes(size)}" for what, size in sizes.items() if size)
        sentence += f"; on {escaped(name)} {parts}" if parts else ""
    return f"{sentence}."


def _ending(run: RunReport) -> Iterator[Fact]:
    if run.ending.status == "ok":
        return
    told = run.ending.status.replace("_", " ")
    told += "" if run.ending.signal is None else f" by {_text(run.ending.signal)}"
    told += "" if run.ending.code is None else f" with code {run.ending.code}"
    detail = tail(run.ending.detail or "", 12)
    said_already = len(detail) == 1 and any(detail[0] in reason for reason in run.reasons)
    yield Fact(label="ended", text=f"{told} after {run.steps} steps", verbatim=() if said_already else detail)
    errors = tail(run.stderr, 8)
    if errors and errors[-1] not in detail:
        yield Fact(label="stderr", text="its last lines", verbatim=errors)


def _text(text: str | None) -> str:
    return cut(text or "", _MOST_TEXT)


def _sentence(text: str) -> str:
    """*text* as a sentence: a capital first, a full stop last."""
    shown = _text(text.strip())
    return shown[:1].upper() + shown[1:] + ("" if shown.endswith((".", "!", "?", ":")) else ".") if shown else shown
