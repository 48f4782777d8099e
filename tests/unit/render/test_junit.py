"""JUnit: a case a run, red where something was not expected, and nothing that hides what is missing."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from harness.model.report import Report, SubjectId
from harness.render.junit import render
from tests.hostile import a_hostile_report, a_report_of_everything
from tests.report_builder import a_finding, a_leak, a_report, a_run


def read(report: Report) -> JUnitXml:
    return JUnitXml.fromstring(render(report).encode())


def only_result(report: Report) -> Any:
    (suite,) = read(report)
    (case,) = suite
    (result,) = case.result
    return result


@pytest.mark.parametrize(
    "report",
    [a_report(), a_report(a_leak(), a_run()), a_report_of_everything(), a_hostile_report()],
    ids=["empty", "plain", "everything", "hostile"],
)
def test_whatever_a_report_holds_its_xml_is_well_formed_and_in_the_order_of_the_schema(report: Report) -> None:
    root = ElementTree.fromstring(render(report).encode())

    assert {case.tag for suite in root for case in suite} <= {"properties", "testcase"}
    for case in root.iter("testcase"):
        parts = [part.tag for part in case]
        results = [part for part in parts if part in ("failure", "error", "skipped")]
        assert parts == [
            *(["properties"] if "properties" in parts else []),
            *results,
            *(["system-out"] if "system-out" in parts else []),
        ]
        assert len(results) <= 1


def test_a_file_is_a_suite_and_a_variant_of_it_a_case() -> None:
    xml = read(a_report(a_run("a"), a_run("a", variant="fixed_step"), a_run("b")))

    assert [(suite.name, [(case.classname, case.name) for case in suite]) for suite in xml] == [
        ("a", [("work.a", "step"), ("work.a", "fixed_step")]),
        ("b", [("work.b", "step")]),
    ]
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (3, 0, 0, 0)


def test_ranks_of_a_job_are_cases_of_their_own() -> None:
    runs = [a_run("a", subject=SubjectId(rank=rank, pid=1)) for rank in (0, 1)]

    (suite,) = read(a_report(*runs))

    assert [case.name for case in suite] == ["step · rank 0", "step · rank 1"]


def test_a_leak_is_a_failure_with_cause_line_holder_why_and_fix() -> None:
    failure = only_result(a_report(a_leak()))

    assert isinstance(failure, Failure)
    assert failure.type == "held_reference"
    assert failure.message == (
        "leak (held_reference), expected stable: held_reference 16.0 KiB/step at work/train.py:12 in step, "
        "held by module train > history: list > [*]"
    )
    assert failure.text == (
        "\n"
        "cause       held_reference\n"
        "grows       16.0 KiB/step, 1 object a step, 896.0 KiB kept in all on cpu\n"
        "allocated   work/train.py:12 in step\n"
        "              x = torch.ones(64, 64)\n"
        "            called by work/train.py:30 in epoch\n"
        "held by     module train > history: list > [*]; grows at history\n"
        "why         Something that outlives the step keeps the tensors allocated at line 12 in step.\n"
        "fix         Drop them when the step is done, or bound the container.\n"
        "\n"
        "the storages of one site grow by 16384 bytes a step, to the end\n"
        "the oldest of them is 55 steps old and alive\n"
    )


def test_a_case_says_where_it_is_and_what_it_took_exactly() -> None:
    root = ElementTree.fromstring(render(a_report(a_leak())))

    (case,) = root.iter("testcase")
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert (case.get("file"), case.get("line"), case.get("time")) == ("work/train.py", "12", "1.25")
    assert properties["leak.bytes.per_step"] == "16384"
    assert properties["peak.tensors.cpu"] == "32768"
    assert properties["finding.0.bytes_per_step"] == "16384"
    assert properties["finding.0.fingerprint"] == "f00d"


def test_a_run_that_failed_is_an_error_by_how_it_ended() -> None:
    error = only_result(a_report(a_run(outcome="failed", as_expected=False, reasons=("it raised KeyError",))))

    assert isinstance(error, Error)
    assert error.message == "failed, expected stable: it raised KeyError"


@pytest.mark.parametrize(
    "run",
    [
        a_run(outcome="inconclusive", as_expected=False, reasons=("too few steps",)),
        a_leak(findings=(a_finding(known={"what": "guards"}),)),
    ],
    ids=["inconclusive", "known"],
)
def test_what_no_verdict_or_a_library_excuses_is_skipped_with_the_reason(run: Any) -> None:
    skipped = only_result(a_report(run))

    assert isinstance(skipped, Skipped)
    assert skipped.message
    assert skipped.text.strip()


def test_what_ended_as_expected_has_no_result_and_says_what_was_found() -> None:
    ((case,),) = read(a_report(a_leak(as_expected=True)))

    assert case.is_passed
    assert case.system_out.startswith("held_reference 16.0 KiB/step at work/train.py:12 in step")


def test_what_is_missing_is_an_error_and_not_a_green_page() -> None:
    suite = list(read(a_report_of_everything()))[-1]

    told = [(case.name, case.result[0].type, case.result[0].message.partition(".")[0]) for case in suite]
    assert suite.name == "harness"
    assert told == [
        ("gone.py", "asked for and not found", "gone"),
        ("lost.py::step", "measuring failed", "measuring failed:"),
        ("interrupted", "interrupted", "Interrupted: what follows is missing"),
    ]


def test_an_empty_report_is_an_error_that_says_so() -> None:
    error = only_result(a_report())

    assert error.message == "Nothing was measured."
