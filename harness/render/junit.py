"""The report as JUnit XML, for the test pages of Jenkins, GitLab, GitHub actions and the like.

A scenario's file is a suite, a variant of it a case. What was not expected is a failure; what could not run is an
error; a run without a verdict is skipped, and so is growth known to be a library's: pytest does so with an expected
failure.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from junitparser import Attr, Error, Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite
from msgspec.structs import replace

from harness.model.report import Problem, Report, RunReport
from harness.render.escaped import cut
from harness.render.facts import brief, finding_facts, finding_line, run_facts
from harness.render.figures import Figure, exact_figures, noisy_figures, plain_number
from harness.render.from_root import from_root
from harness.render.places import main_place, run_place
from harness.render.plain import plain_facts, problem_text, reasons_of
from harness.render.view import closing, outcome_words, run_title, standing, verdict_words

if TYPE_CHECKING:
    from junitparser.junitparser import FinalResult

__all__ = ["render"]

_LONGEST_NAME = 200


class _Case(TestCase):
    """A case that says where it is, as pytest's and GitLab's do."""

    file = Attr()
    line = Attr()


def render(report: Report) -> str:
    """XML 1.0 text, indented, ending in a newline."""
    report = from_root(report)
    xml = JUnitXml(cut(report.tool.name, _LONGEST_NAME))
    by_path: dict[str, list[RunReport]] = {}
    for run in report.runs:
        by_path.setdefault(run.path, []).append(run)
    for runs in by_path.values():
        xml.append(_suite(runs[0].scenario, report, (_case(run) for run in runs)))
    troubles = [*_troubles(report)]
    if troubles:
        xml.append(_suite("harness", report, troubles))
    xml.update_statistics()
    text = io.BytesIO()
    xml.write(text, pretty=True)
    return text.getvalue().decode()


def _suite(name: str, report: Report, cases: Iterable[TestCase]) -> TestSuite:
    suite = TestSuite(cut(name, _LONGEST_NAME))
    here = report.environment
    facts = {
        "tool": f"{report.tool.name} {report.tool.version}",
        "python": here.python,
        "torch": here.torch or "none",
        "platform": here.platform,
        "cpu_count": str(here.cpu_count),
        "torch_threads": str(here.torch_threads or "unknown"),
        "seed": str(here.seed),
    }
    for fact, value in facts.items():
        suite.add_property(fact, cut(value, _LONGEST_NAME))
    suite.add_testcases(list(cases))
    return suite


def _case(run: RunReport) -> TestCase:
    placed = _Case(_case_name(run), _class_name(run), round(run.elapsed_s, 3))
    place = main_place(run.findings[0], run) if run.findings else run_place(run)
    placed.file = cut(place.path, _LONGEST_NAME)
    if place.line is not None:
        placed.line = str(place.line)
    case: TestCase = placed
    case.append(_properties(run))
    result = _result(run)
    if result is not None:
        case.result = result
    told = "\n".join(brief(run)) if result is None else plain_facts(run_facts(run))
    if told:
        case.system_out = told
    return case


def _case_name(run: RunReport) -> str:
    """The variant; the rank and the worker too where there are some."""
    return run_title(replace(run, scenario="")).removeprefix(" · ")


def _class_name(run: RunReport) -> str:
    return cut(run_place(run).path.removesuffix(".py").replace("/", "."), _LONGEST_NAME)


def _result(run: RunReport) -> FinalResult | None:
    counts = standing(run)
    if counts == "expected":
        return None
    lines = [finding_line(finding, run) for finding in run.findings[:1]] or [*reasons_of(run)[-1:]]
    message = ": ".join((verdict_words(run), *lines))
    kinds: tuple[type[FinalResult], str] = (Failure, run.outcome)
    if counts in ("inconclusive", "known"):
        kinds = Skipped, outcome_words(run)
    elif run.outcome == "failed":
        kinds = Error, run.ending.status
    result = kinds[0](message, run.findings[0].cause or run.findings[0].fault if run.findings else kinds[1])
    told = [plain_facts(finding_facts(finding, run)) for finding in run.findings]
    told.append("\n".join(reasons_of(run)))
    result.text = "\n" + "\n\n".join(filter(None, told)) + "\n"
    return result


def _properties(run: RunReport) -> Properties:
    properties = Properties()
    facts = {"outcome": run.outcome, "steps": str(run.steps), "warmup_steps": str(run.warmup_steps)}
    facts |= {_figure_name(f): plain_number(f.value) for f in (*exact_figures(run), *noisy_figures(run))}
    for number, finding in enumerate(run.findings):
        before = f"finding.{number}"
        facts[f"{before}.cause"] = cut(finding.cause or finding.fault or "", _LONGEST_NAME)
        facts[f"{before}.fingerprint"] = cut(finding.fingerprint, _LONGEST_NAME)
        facts[f"{before}.bytes_per_step"] = plain_number(finding.bytes_per_step)
        facts[f"{before}.tensor_bytes_per_step"] = plain_number(finding.tensor_bytes_per_step)
        facts[f"{before}.objects_per_step"] = plain_number(finding.objects_per_step)
        facts[f"{before}.retained_bytes"] = plain_number(finding.retained_bytes)
    for name, value in facts.items():
        properties.add_property(Property(name, value))
    return properties


def _figure_name(figure: Figure) -> str:
    return figure.metric if figure.device is None else f"{figure.metric}.{figure.device}"


def _troubles(report: Report) -> Iterator[TestCase]:
    """What is missing from the report, as cases that are errors: a page of green ones would hide it."""
    for problem in report.problems:
        yield _trouble(problem, "asked for and not found")
    for error in report.errors:
        yield _trouble(error, "measuring failed")
    if report.interrupted or not report.runs:
        case = TestCase("interrupted" if report.interrupted else "measured", "harness")
        case.result = Error(closing(report), "interrupted" if report.interrupted else "nothing was measured")
        yield case


def _trouble(problem: Problem, kind: str) -> TestCase:
    case = TestCase(cut(problem.target, _LONGEST_NAME), "harness")
    message, rest = problem_text(problem.message, problem.help)
    result = Error(message, kind)
    result.text = f"\n{rest}\n"
    case.result = result
    return case
