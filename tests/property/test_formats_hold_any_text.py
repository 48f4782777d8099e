"""Whatever is in a report, each format for CI can be read by what it was made for."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.render import render
from harness.render.markdown_text import code, text
from tests.hostile import a_hostile_report

PIECES = (
    "::",
    "%0A",
    "\n",
    "\r",
    "|",
    "`",
    "```",
    "<",
    ">",
    "&",
    "]]>",
    "--",
    "[",
    "](",
    "$",
    "@a",
    "#1",
    "\\",
    '"',
    "'",
)
ANY_TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=12).map("".join)


@given(ANY_TEXT)
def test_junit_is_xml_and_sarif_is_json_with_relative_paths(told: str) -> None:
    report = a_hostile_report(told)

    ElementTree.fromstring(render(report, "junit").encode())
    uris = re.findall(r'"uri": "([^"]*)"', render(report, "sarif"))

    assert json.loads(render(report, "sarif"))["version"] == "2.1.0"
    assert uris
    assert all(re.fullmatch(r"(?!/)(?!\.\.?/)[A-Za-z0-9._~%/-]+", uri) for uri in uris)


@given(ANY_TEXT)
def test_an_annotation_is_one_line_and_a_sample_is_one_line(told: str) -> None:
    report = a_hostile_report(told)

    annotations = render(report, "github").splitlines()
    metrics = render(report, "gitlab").splitlines()

    assert all(re.fullmatch(r"::(error|warning|notice) [^:]*::.+", line) for line in annotations[:-1])
    assert annotations[-1].startswith("harness: ")
    assert all(re.fullmatch(r"# .*|[a-z_]+\{.*\} \S+", line) for line in metrics)
    assert metrics[-1] == "# EOF"


@given(ANY_TEXT.map(lambda told: "".join(c for c in told if c.isprintable())))
def test_markdown_shows_text_as_it_is(told: str) -> None:
    for as_markdown in (text, code):
        tokens = MarkdownIt("gfm-like").parseInline(f"x{as_markdown(told)}y")[0].children or ()

        assert "".join(part.content for part in tokens if part.type != "html_inline") == f"x{told}y"
        assert {part.type for part in tokens} <= {"text", "code_inline", "html_inline"}
        assert {part.content for part in tokens if part.type == "html_inline"} <= {"<!-- -->", "<span>", "</span>"}
