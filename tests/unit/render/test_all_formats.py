"""One report, many formats: none tells another outcome, cause, line, holder or figure than the others."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pytest
from junitparser import JUnitXml

from harness.model.expectation import Expectation
from harness.model.report import Comparison
from harness.render import FIGURES_ONLY, FORMATS, render
from tests.hostile import a_hostile_report, a_report_of_everything
from tests.report_builder import a_leak, a_report, a_run

REPORT = a_report(a_leak(), a_run())
OUTCOME, CAUSE, PLACE = "leak", "held_reference", ("work/train.py", 12)
HOLDER, EXACT_BYTES, SHOWN_BYTES = "module train > history: list > [*]", 16384.0, "16.0 KiB/step"
WHY = "Something that outlives the step keeps the tensors allocated at line 12 in step"
FIX = "Drop them when the step is done, or bound the container."
PROSE = [name for name in FORMATS if name not in FIGURES_ONLY]


def unescaped(text: str, name: str) -> str:
    """*text* as a reader sees it, on one line."""
    if name == "github":
        text = unquote(text)
    elif name == "junit":
        text = text.replace("&gt;", ">")
    return " ".join(text.split())


@pytest.mark.parametrize("name", [name for name in PROSE if name != "json"])
def test_every_format_with_words_says_the_same_of_a_leak(name: str) -> None:
    shown = unescaped(render(REPORT, name), name)

    for told in (OUTCOME, CAUSE, "work/train.py", HOLDER, SHOWN_BYTES, WHY, FIX):
        assert told in shown, told
    assert "train · step" in shown or name == "junit"  # which has the suite's name and the case's apart


def test_every_format_names_the_same_line() -> None:
    path, line = PLACE
    result = json.loads(render(REPORT, "sarif"))["runs"][0]["results"][0]
    physical = result["locations"][0]["physicalLocation"]
    frame = json.loads(render(REPORT, "json"))["runs"][0]["findings"][0]["allocated_at"][0]

    assert (physical["artifactLocation"]["uri"], physical["region"]["startLine"]) == PLACE
    assert frame["path"].endswith(f"/{path}")
    assert frame["line"] == line
    for name in ("terminal", "markdown", "junit", "github"):
        assert f"{path}:{line}" in render(REPORT, name)
    assert f"file={path},line={line}," in render(REPORT, "github")
    assert f'file="{path}" line="{line}"' in render(REPORT, "junit")


def test_every_format_for_machines_has_the_same_exact_figures() -> None:
    finding = json.loads(render(REPORT, "json"))["runs"][0]["findings"][0]
    properties = json.loads(render(REPORT, "sarif"))["runs"][0]["results"][0]["properties"]
    in_junit = dict(re.findall(r'<property name="([^"]*)" value="([^"]*)"/>', render(REPORT, "junit")))
    figures = {e["name"]: e["value"] for e in json.loads(render(REPORT, "benchmark-action"))}
    measures = json.loads(render(REPORT, "bencher"))["train · step"]
    grows = re.findall(r"harness_leak_bytes_per_step\{.*\} (.*)", render(REPORT, "gitlab"))

    assert finding["bytes_per_step"] == EXACT_BYTES
    assert properties["bytes_per_step"] == EXACT_BYTES
    assert float(in_junit["finding.0.bytes_per_step"]) == EXACT_BYTES
    assert figures["train · step: leak.bytes.per_step"] == EXACT_BYTES
    assert measures["leak-bytes-per-step"]["value"] == EXACT_BYTES
    assert [float(value) for value in grows] == [EXACT_BYTES]


def test_every_format_with_a_count_counts_the_same() -> None:
    report = a_report_of_everything()
    closing = "Interrupted: what follows is missing. 3 of 7 as expected, 2 not: train · step, broken · step"
    xml = JUnitXml.fromstring(render(report, "junit").encode())

    for name in ("terminal", "markdown", "github", "junit", "sarif"):
        assert closing in unescaped(render(report, name), name), name
    assert (xml.failures, xml.skipped) == (1, 2)
    assert xml.errors == 1 + 3  # the broken run; what was not found, what failed, the interruption
    assert 'harness_runs{standing="unexpected"} 2' in render(report, "gitlab")


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_lets_a_control_character_through_or_fails_on_one(name: str) -> None:
    shown = render(a_hostile_report(), name)

    shown.encode()
    assert shown.endswith("\n")
    assert all(c.isprintable() or c in "\n\t" for c in shown) or name == "json"  # JSON has escapes of its own


@pytest.mark.parametrize("name", FORMATS)
def test_a_renderer_gives_the_same_text_each_time(name: str) -> None:
    assert render(a_report_of_everything(), name) == render(a_report_of_everything(), name)


@pytest.mark.parametrize("name", PROSE)
def test_what_was_not_found_and_what_failed_is_told_by_every_format_with_words(name: str) -> None:
    shown = render(a_report_of_everything(), name)

    assert "gone.py: not there" in shown
    assert "KeyError: 1" in shown


@pytest.mark.parametrize("name", [name for name in PROSE if name != "json"])
def test_a_ratio_that_was_expected_and_not_reached_is_told_by_every_format_with_words(name: str) -> None:
    run = a_run(
        as_expected=False,
        expected=Expectation(kind="slower", at_least=4.0),
        comparison=Comparison(throughput_ratio=1.5),
    )

    shown = unescaped(render(a_report(run), name), name)

    assert "expected slower (at least 4.0x)" in shown
    assert "ixed_step is 1.50x as fast" in shown
