"""The report as SARIF 2.1.0, for code scanning: an alert where memory is allocated, with the line that keeps it.

Only what was not expected is a result. Growth known to be a library's is one that is suppressed. A run without a
verdict says nothing of the code: it is a notification, as is everything that could not be found or measured. Paths are
relative to %SRCROOT%, the folder that the tool ran in. The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.model.codec import encode_json
from harness.model.report import Finding, Problem, Report, RunReport
from harness.render.escaped import cut
from harness.render.facts import finding_facts, finding_line
from harness.render.figures import exact_figures, noisy_figures
from harness.render.from_root import from_root
from harness.render.places import main_place, places_of, run_place
from harness.render.plain import reasons_of
from harness.render.rules import NOT_AS_EXPECTED, RULES, Rule, rule_index
from harness.render.sarif_locations import BASE, location, stack
from harness.render.view import closing, run_title, standing, verdict_words

__all__ = ["render"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LONGEST = 1000


def render(report: Report) -> str:
    """JSON text, two spaces deep, ending in a newline."""
    report = from_root(report)
    # GitHub asks for originalUriBaseIds; without a uri it says only what the name means, and no folder of a machine.
    base = {BASE: {"description": {"text": "the folder that harness ran in: the root of the repository"}}}
    results = [result for run in report.runs if standing(run) in ("unexpected", "known") for result in _results(run)]
    run = {
        "tool": {"driver": _driver(report)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": base,
        "invocations": [_invocation(report)],
        "results": results,
        "properties": {"summary": closing(report), "runs": len(report.runs)},
    }
    return encode_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}).decode()


def _driver(report: Report) -> dict[str, Any]:
    version = cut(report.tool.version, 100)
    return {"name": cut(report.tool.name, 100), "version": version, "rules": [_rule(rule) for rule in RULES]}


def _rule(rule: Rule) -> dict[str, Any]:
    kind = "fault" if rule.is_fault else "leak"
    return {
        "id": rule.name,
        "name": "".join(part.capitalize() for part in rule.name.split("_")),
        "shortDescription": {"text": f"{rule.short}."},
        "fullDescription": {"text": f"{rule.short}. {rule.advice}"},
        "help": {"text": rule.advice, "markdown": f"**{rule.short}.** {rule.advice}"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["memory" if kind == "leak" else "correctness", kind], "problem.severity": "error"},
    }


def _results(run: RunReport) -> Iterator[dict[str, Any]]:
    """One a finding; a run that has none is one itself, at its file."""
    for finding in run.findings:
        yield _finding(finding, run)
    if not run.findings:
        reasons = "\n".join(reasons_of(run))
        yield {
            **_rule_of(NOT_AS_EXPECTED),
            "level": "error",
            "message": {"text": _text(f"{run_title(run)}: {verdict_words(run)}\n{reasons}".rstrip())},
            "locations": [location(run_place(run))],
            "partialFingerprints": {"harnessFinding/v1": cut(f"{run.path}:{run.variant}:{run.outcome}", _LONGEST)},
            "properties": _about_the_run(run),
        }


def _finding(finding: Finding, run: RunReport) -> dict[str, Any]:
    result: dict[str, Any] = {
        **_rule_of(finding.cause or finding.fault or NOT_AS_EXPECTED),
        "level": "note" if finding.known is not None else "error",
        "message": {"text": _message(finding, run)},
        "locations": [location(main_place(finding, run), holder=finding.held_by.text if finding.held_by else None)],
        "partialFingerprints": {"harnessFinding/v1": cut(finding.fingerprint, _LONGEST)},
        "properties": _about_the_finding(finding, run),
    }
    related: list[dict[str, Any]] = []
    for told, frames in (("allocated here", finding.allocated_at), ("kept here", finding.retained_at)):
        for place in places_of(frames, run)[:1]:
            related.append(location(place, id=len(related) + 1, message=told))
    if related:
        result["relatedLocations"] = related
    callers = places_of(finding.allocated_at, run)
    if callers:
        result["stacks"] = [stack("allocated at, the innermost call first", callers)]
    if finding.known is not None:
        why = "; ".join(f"{cut(str(name), 100)}: {cut(str(value), 400)}" for name, value in finding.known.items())
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return result


def _rule_of(name: str) -> dict[str, Any]:
    place = rule_index(name)
    return {"ruleId": cut(name, 100), **({} if place is None else {"ruleIndex": place})}


def _message(finding: Finding, run: RunReport) -> str:
    """The first line stands alone in lists of alerts; below it what a reader of one wants."""
    kept = [fact for fact in finding_facts(finding, run) if fact.label not in ("cause", "fault", "allocated", "grows")]
    lines = [f"{run_title(run)}: {finding_line(finding, run)}."]
    lines += [f"{fact.label.capitalize()}: {fact.text}" for fact in kept]
    return _text("\n".join(lines))


def _text(text: str) -> str:
    """SARIF reads ``[text](1)`` in a message as a link: a name that looks like one is not."""
    return text.replace("](", "] (")


def _about_the_run(run: RunReport) -> dict[str, Any]:
    figures = {
        (f.metric if f.device is None else f"{f.metric}.{f.device}"): f.value
        for f in (*exact_figures(run), *noisy_figures(run))
    }
    return {
        "scenario": cut(run.scenario, _LONGEST),
        "variant": run.variant,
        "outcome": run.outcome,
        "steps": run.steps,
        "figures": figures,
    }


def _about_the_finding(finding: Finding, run: RunReport) -> dict[str, Any]:
    held = finding.held_by
    return {
        **_about_the_run(run),
        "confidence": finding.confidence,
        "bytes_per_step": finding.bytes_per_step,
        "tensor_bytes_per_step": finding.tensor_bytes_per_step,
        "objects_per_step": finding.objects_per_step,
        "retained_bytes": finding.retained_bytes,
        **({} if held is None else {"held_by": cut(held.text, _LONGEST), "suspect": cut(held.suspect or "", _LONGEST)}),
    }


def _invocation(report: Report) -> dict[str, Any]:
    """How the tool itself fared: notifications are about what there is no verdict on."""
    told = [_problem(problem, "error") for problem in (*report.problems, *report.errors)]
    told += [_notification(run) for run in report.runs if standing(run) == "inconclusive"]
    if report.interrupted or not report.runs:
        told.append({"level": "error", "message": {"text": _text(closing(report))}})
    whole = not (report.errors or report.problems or report.interrupted) and bool(report.runs)
    return {"executionSuccessful": whole, **({"toolExecutionNotifications": told} if told else {})}


def _problem(problem: Problem, level: str) -> dict[str, Any]:
    text = "\n".join(cut(part, _LONGEST) for part in (f"{problem.target}: {problem.message}", problem.help))
    return {"level": level, "message": {"text": _text(text)}}


def _notification(run: RunReport) -> dict[str, Any]:
    reasons = " ".join(reasons_of(run))
    text = f"{run_title(run)}: {verdict_words(run)}. {reasons}".rstrip()
    return {"level": "warning", "message": {"text": _text(text)}, "locations": [location(run_place(run))]}
