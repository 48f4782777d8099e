"""SARIF: an alert where memory is allocated, valid by the standard, and nothing absolute in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.model.allocation import Frame
from harness.model.expectation import CAUSES, FAULTS
from harness.model.report import Report
from harness.render.rules import NOT_AS_EXPECTED, RULES
from harness.render.sarif import render
from tests.hostile import a_hostile_report, a_report_of_everything
from tests.report_builder import a_finding, a_leak, a_report, a_run

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0-subset.json").read_bytes())


def sarif(report: Report) -> dict[str, Any]:
    """The one run of the file."""
    (run,) = json.loads(render(report))["runs"]
    assert isinstance(run, dict)
    return run


def only_result(report: Report) -> dict[str, Any]:
    (result,) = sarif(report)["results"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    "report",
    [a_report(), a_report(a_leak(), a_run()), a_report(interrupted=True), a_report_of_everything(), a_hostile_report()],
    ids=["empty", "plain", "interrupted", "everything", "hostile"],
)
def test_whatever_a_report_holds_its_sarif_is_valid(report: Report) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    jsonschema.validate(json.loads(render(report)), SCHEMA)


def test_every_cause_and_every_fault_has_a_rule_that_says_what_it_is() -> None:
    assert [rule.name for rule in RULES] == [*CAUSES, *FAULTS, NOT_AS_EXPECTED]
    assert [rule.name for rule in RULES if rule.is_fault] == [*FAULTS, NOT_AS_EXPECTED]
    assert all(not rule.short.endswith(".") for rule in RULES)
    assert all(rule.advice.endswith(".") for rule in RULES)


def test_a_result_names_its_rule_by_name_and_by_place() -> None:
    run = sarif(a_report(a_leak(findings=(a_finding(cause=None, fault="null_gradient"),))))

    rules, result = run["tool"]["driver"]["rules"], run["results"][0]
    assert result["ruleId"] == "null_gradient"
    assert rules[result["ruleIndex"]]["name"] == "NullGradient"


def test_a_cause_of_a_later_version_is_shown_without_a_rule() -> None:
    result = only_result(a_report(a_leak(findings=(a_finding(cause="moon_phase"),))))

    assert result["ruleId"] == "moon_phase"
    assert "ruleIndex" not in result


def test_a_leak_is_an_error_at_the_line_that_allocates() -> None:
    result = only_result(a_report(a_leak(), a_run()))

    assert result["level"] == "error"
    assert result["message"]["text"] == (
        "train · step: held_reference 16.0 KiB/step at work/train.py:12 in step, "
        "held by module train > history: list > [*].\n"
        "Held by: module train > history: list > [*]; grows at history\n"
        "Why: Something that outlives the step keeps the tensors allocated at line 12 in step.\n"
        "Fix: Drop them when the step is done, or bound the container."
    )
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "work/train.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 12, "snippet": {"text": "x = torch.ones(64, 64)"}},
    }
    assert result["partialFingerprints"] == {"harnessFinding/v1": "f00d"}
    assert result["properties"]["bytes_per_step"] == 16384.0
    assert result["properties"]["figures"]["leak.bytes.per_step"] == 16384.0


def test_what_allocates_and_what_keeps_are_related_locations() -> None:
    kept = (Frame(path="/home/me/work/parts/log.py", line=7, function="note", source="history.append(x)"),)

    result = only_result(a_report(a_leak(findings=(a_finding(retained_at=kept),))))

    told = [(r["message"]["text"], r["physicalLocation"]) for r in result["relatedLocations"]]
    assert [(text, p["artifactLocation"]["uri"], p["region"]["startLine"]) for text, p in told] == [
        ("allocated here", "work/train.py", 12),
        ("kept here", "work/parts/log.py", 7),
    ]
    assert [f["location"]["physicalLocation"]["region"]["startLine"] for f in result["stacks"][0]["frames"]] == [12, 30]


def test_no_path_is_absolute_and_none_leads_out_of_the_repository() -> None:
    outside = (
        Frame(path="/usr/lib/python3/site-packages/torch/nn/linear.py", line=3, function="forward"),
        Frame(path="../other.py", line=3, function="f"),
        Frame(path="<string>", line=3, function="<module>"),
    )
    report = a_report(
        a_leak(findings=(a_finding(allocated_at=outside, retained_at=outside),)),
        a_leak("else", path="/elsewhere/else.py", findings=()),
    )

    uris = re.findall(r'"uri": "([^"]*)"', render(report))

    assert uris == ["work/train.py", "else.py"]


def test_growth_known_to_be_a_librarys_is_a_suppressed_note_with_the_reason() -> None:
    known = a_finding(known={"what": "torch.compile keeps guards", "link": "https://example.org/1"})

    result = only_result(a_report(a_leak(findings=(known,))))

    assert result["level"] == "note"
    assert result["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "what: torch.compile keeps guards; link: https://example.org/1",
        }
    ]


def test_what_was_expected_is_no_result() -> None:
    report = a_report(a_leak(as_expected=True), a_run())

    assert sarif(report)["results"] == []
    assert sarif(report)["invocations"] == [{"executionSuccessful": True}]


def test_a_run_that_failed_without_a_finding_is_a_result_at_its_file() -> None:
    result = only_result(a_report(a_run(outcome="failed", as_expected=False, reasons=("it raised KeyError",))))

    assert result["ruleId"] == NOT_AS_EXPECTED
    assert result["message"]["text"] == "tidy · step: failed, expected stable\nit raised KeyError"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "work/tidy.py", "uriBaseId": "%SRCROOT%"}
    }


def test_what_there_is_no_verdict_on_is_a_notification_and_no_result() -> None:
    run = sarif(a_report_of_everything())

    (invocation,) = run["invocations"]
    told = [(n["level"], n["message"]["text"].partition(":")[0]) for n in invocation["toolExecutionNotifications"]]
    assert invocation["executionSuccessful"] is False
    assert told == [
        ("error", "gone.py"),
        ("error", "lost.py"),
        ("warning", "unclear · step"),
        ("error", "Interrupted"),
    ]
    assert [r["ruleId"] for r in run["results"]] == ["held_reference", "held_reference", NOT_AS_EXPECTED]


def test_an_empty_report_says_that_nothing_was_measured() -> None:
    (invocation,) = sarif(a_report())["invocations"]

    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "Nothing was measured."


def test_a_name_that_looks_like_a_link_is_none() -> None:
    text = only_result(a_report(a_leak(findings=(a_finding(explanation="see [here](1)"),))))["message"]["text"]

    assert "See [here] (1)." in text
