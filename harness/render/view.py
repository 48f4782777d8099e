"""The wording that all renderers share: what a report's values are called in sentences. No layout lives here."""

from __future__ import annotations

import shlex
from typing import Literal, get_args

from harness.model.expectation import Expectation
from harness.model.report import Comparison, Finding, Report, RunReport
from harness.render.escaped import cut
from harness.units import (
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
    format_share,
    format_throughput,
)

__all__ = [
    "Standing",
    "closing",
    "comparison_words",
    "expected_words",
    "finding_growth",
    "growth_words",
    "next_command",
    "outcome_words",
    "peak_words",
    "ratio_words",
    "run_title",
    "speed_words",
    "standing",
    "verdict_words",
]

Standing = Literal["expected", "unexpected", "inconclusive", "known"]
_NAME_COLUMNS = 64
_KINDS = {
    "look_alike": "look-alike",
    "higher_peak": "higher peak",
    "more_allocations": "more allocations",
    "gradient_wrong": "wrong gradient",
}


def standing(run: RunReport) -> Standing:
    """How a run counts: growth of which every part is known to come from a library counts apart, and so does a run
    that allows no verdict, or was stopped before one; neither is a surprise of this code's making."""
    if run.as_expected:
        return "expected"
    if run.outcome == "inconclusive" or _was_stopped(run):
        return "inconclusive"
    if run.outcome == "leak" and run.findings and all(finding.known is not None for finding in run.findings):
        return "known"
    return "unexpected"


def run_title(run: RunReport) -> str:
    """``train · step``, with the rank and the worker where there are some."""
    rank = "" if run.subject.rank is None else f" · rank {run.subject.rank}"
    worker = "" if run.subject.worker is None else f" · worker {run.subject.worker}"
    return f"{cut(run.scenario, _NAME_COLUMNS)} · {run.variant}{rank}{worker}"


def outcome_words(run: RunReport) -> str:
    """``leak``, ``leak (known)``, ``not run``, ``interrupted``."""
    if _was_stopped(run):
        return "interrupted"
    if not run.started:
        return "not run"
    return "leak (known)" if standing(run) == "known" else run.outcome


def _was_stopped(run: RunReport) -> bool:
    """Whether the user ended it before there was a verdict: that says nothing of the code."""
    return run.outcome == "failed" and run.ending.status == "interrupted"


def expected_words(expected: Expectation, *, short: bool = False) -> str:
    """``leak (held_reference)``, ``slower (at least 4.0x)``; *short* leaves out what stands in parentheses."""
    kind = _KINDS.get(expected.kind, expected.kind)
    detail = expected.cause or expected.look_alike or expected.fault
    if expected.at_least is not None:
        detail = f"at least {format_ratio(expected.at_least)}"
    return kind if short or detail is None else f"{kind} ({detail})"


def verdict_words(run: RunReport) -> str:
    """``leak, expected stable``; where the kind was right and its cause was not, both causes."""
    if run.as_expected:
        return f"{outcome_words(run)}, as expected"
    found = ", ".join(dict.fromkeys(finding.cause or finding.fault or "" for finding in run.findings))
    told = f"{outcome_words(run)} ({cut(found, _NAME_COLUMNS)})" if found else outcome_words(run)
    return f"{told}, expected {expected_words(run.expected)}"


def finding_growth(finding: Finding) -> str:
    """``16.0 KiB/step``, or a count where no bytes grow; ``~`` before an estimate."""
    about = "~" if finding.confidence == "statistical" else ""
    if finding.bytes_per_step or finding.tensor_bytes_per_step:
        return about + format_rate(finding.bytes_per_step or finding.tensor_bytes_per_step)
    return f"{about}{format_count(finding.objects_per_step)}/step" if finding.objects_per_step else "-"


def growth_words(run: RunReport) -> str:
    """The growth of the main finding; without one, of the metric that grows most; ``-`` where nothing grows."""
    if run.findings:
        return finding_growth(run.findings[0])
    growing = [growth for growth in run.growth.values() if growth.trend == "growing"]
    if not growing:
        return "-"
    most = max(growing, key=lambda growth: (growth.unit == "bytes", growth.per_step))
    return "~" + (format_rate(most.per_step) if most.unit == "bytes" else f"{format_count(most.per_step)}/step")


def speed_words(run: RunReport) -> str:
    """Items a second where the scenario says how many a step has, else steps a second."""
    if run.throughput is None:
        return "-"
    if run.throughput.items_per_s is not None:
        return format_throughput(run.throughput.items_per_s, "items")
    return format_throughput(run.throughput.steps_per_s)


def comparison_words(comparison: Comparison) -> str:
    """``fixed_step is 6.1x as fast; step peaks at 2.0x its bytes and allocates 3.0x as often``."""
    step = []
    if comparison.peak_ratio is not None:
        step.append(f"peaks at {format_ratio(comparison.peak_ratio)} its bytes")
    if comparison.allocation_ratio is not None:
        step.append(f"allocates {format_ratio(comparison.allocation_ratio)} as often")
    parts = [f"step {' and '.join(step)}"] if step else []
    if comparison.throughput_ratio is not None:
        parts.insert(0, f"fixed_step is {ratio_words(comparison)} as fast")
    return "; ".join(parts) or "nothing could be compared"


def ratio_words(comparison: Comparison) -> str:
    """``6.1x``, with its spread where that is known: ``6.1x (5.8x to 6.4x)``."""
    assert comparison.throughput_ratio is not None
    told = format_ratio(comparison.throughput_ratio)
    low, high = comparison.throughput_low, comparison.throughput_high
    if low is None or high is None or low == high:
        return told
    return f"{told} ({format_ratio(low)} to {format_ratio(high)})"


def peak_words(run: RunReport) -> str | None:
    """``1.4 MiB on the CPU in step 47: activation 61 %, parameter 20 %, input 19 %``; None where it is not known."""
    total = sum(run.peak_by_role.values())
    if not total:
        return None
    shares = sorted(run.peak_by_role.items(), key=lambda item: -item[1])
    told = ", ".join(f"{role} {format_share(bytes_ / total)}" for role, bytes_ in shares)
    return f"{format_bytes(total)} on the CPU in step {run.peak_step}: {told}"


def next_command(run: RunReport) -> str:
    """What to type next: more steps where the run was too short to tell, more time where that ran out."""
    command = f"harness run {cut(shlex.quote(run.path), 200)} --variant {run.variant}"
    if run.outcome == "inconclusive":
        return f"{command} --steps {max(2 * run.steps, 64)}"
    if run.ending.status == "timed_out":
        return f"{command} --timeout {max(60, 4 * round(run.elapsed_s))}s"
    if run.ending.status == "out_of_memory":
        return f"{command} --steps {max(1, run.steps // 2)}"
    return command if run.outcome == "failed" else f"{command} --format json"


def closing(report: Report) -> str:
    """How many runs ended as expected, how many did not, and which of these to look at first."""
    counts = {word: [run for run in report.runs if standing(run) == word] for word in get_args(Standing)}
    total = len(report.runs)
    failed = f"; measuring failed {_times(len(report.errors))}" if report.errors else ""
    if not total:
        return f"Nothing was measured{failed}."
    if len(counts["expected"]) == total:
        told = "The one run ended as expected" if total == 1 else f"All {total} runs ended as expected"
    else:
        told = f"{len(counts['expected'])} of {total} as expected"
        surprises = counts["unexpected"]
        if surprises:
            more = f" and {len(surprises) - 3} more" if len(surprises) > 3 else ""
            told += f", {len(surprises)} not: {', '.join(run_title(run) for run in surprises[:3])}{more}"
        for word, meaning in (("inconclusive", "inconclusive"), ("known", "known upstream growth")):
            told += f"; {len(counts[word])} {meaning}" if counts[word] else ""
    if report.elapsed_s is not None and total > 1:
        told += f", in {format_duration(report.elapsed_s)}"
    if report.problems:
        told += f"; {len(report.problems)} asked for and not found"
    told += failed
    return f"Interrupted: what follows is missing. {told}." if report.interrupted else f"{told}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
