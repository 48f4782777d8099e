"""The JSON report is the published schema's, whatever the report holds."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
import pytest

from harness.model import codec
from harness.model.report import Conservation, Curve, Problem, Report
from harness.model.verdict import LookAlike
from harness.render import FORMATS, render
from tests.report_builder import a_leak, a_report, a_run

SCHEMA = resources.files("harness.model") / "report.schema.json"


def a_full_report() -> Report:
    return a_report(
        a_leak(
            look_alikes=(LookAlike(look_alike="warm_up", bytes=1, evidence="x"),),
            conservation=Conservation(rss_growth_bytes=1, parts={"tensors": 1}, unexplained_bytes=0, children_bytes=0),
        ),
        a_run(notes=("größe",), curves=(Curve(metric="fds", steps=(0,), values=(3.0,)),)),
        problems=(Problem(target="x", message="y", help="z"),),
    )


def test_the_published_schema_is_the_models() -> None:
    rewrite = (
        "from pathlib import Path; from harness.model import codec; "
        "Path('harness/model/report.schema.json').write_bytes(codec.report_schema())"
    )

    assert SCHEMA.read_bytes() == codec.report_schema(), f'the model changed: python -c "{rewrite}"'


@pytest.mark.parametrize("report", [a_full_report(), a_report()])
def test_a_rendered_report_validates_against_the_published_schema(report: Report) -> None:
    schema = json.loads(SCHEMA.read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.validate(json.loads(render(report, "json")), schema)


def test_a_rendered_report_reads_back_as_itself() -> None:
    report = a_report(a_leak(), a_run())

    assert codec.decode_report(render(report, "json").encode(), origin="test") == report


def test_the_names_that_users_depend_on_are_in_the_json() -> None:
    run = json.loads(render(a_full_report(), "json"))["runs"][0]

    assert run["look_alikes"][0]["class"] == "warm_up"
    assert run["expected"] == {"kind": "stable"}
    assert run["findings"][0]["held_by"]["suspect"] == "history"


def test_every_format_renders() -> None:
    for name in FORMATS:
        assert render(a_full_report(), name).endswith("\n")


def test_text_that_utf8_cannot_hold_is_written_as_an_escape_and_read_back() -> None:
    report = a_report(a_run("a\ud800b", peak_bytes={"cpu\udcff": 3}))

    again = codec.decode_report(codec.encode_report(report), origin="here")

    assert again.runs[0].scenario == "a\\ud800b"
    assert again.runs[0].peak_bytes == {"cpu\\udcff": 3}
