"""Markdown: text from outside is shown and does nothing, what matters stands first, and it is never too long."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from harness.model.recording import Ending
from harness.model.report import Report
from harness.render.markdown import render
from harness.render.markdown_text import code, code_cell, fenced, folded, table, text
from tests.hostile import HOSTILE, a_hostile_report, a_report_of_everything
from tests.report_builder import a_finding, a_leak, a_report, a_run

OURS = re.compile(r"<!-- -->|</?(?:span|sub)>|<details><summary>[^<>]*(?:<!-- -->[^<>]*)*</summary>\n?|</details>\n?")


def html(markdown: str) -> str:
    """As GitHub reads it: tables, and web addresses that become links by themselves."""
    return str(MarkdownIt("gfm-like").render(markdown))


def raw_html(markdown: str) -> list[str]:
    """The HTML that stands in the source as HTML, as a reader of Markdown finds it, without what is ours."""
    tokens = [part for token in MarkdownIt("gfm-like").parse(markdown) for part in (token, *(token.children or ()))]
    found = [OURS.sub("", part.content).strip() for part in tokens if part.type in ("html_block", "html_inline")]
    return [content for content in found if content]


@pytest.mark.parametrize("as_markdown", [text, code], ids=["text", "code"])
@pytest.mark.parametrize(
    "told",
    [
        "a|b",
        "`",
        "``",
        "a`b``c",
        "<b>x</b>",
        "&amp;",
        "*a*",
        "__b__",
        "a_b_c",
        "[l](x)",
        "\\",
        "~~s~~",
        "$x$",
        " x ",
        "#",
    ],
)
def test_text_from_outside_is_read_back_as_it_is(told: str, as_markdown: object) -> None:
    assert callable(as_markdown)
    (paragraph,) = [token for token in MarkdownIt("gfm-like").parse(f"x {as_markdown(told)} y") if token.children]

    shown = "".join(part.content for part in paragraph.children or () if part.type in ("text", "code_inline"))

    assert shown == f"x {told} y"


def test_a_bar_in_a_cell_ends_no_cell() -> None:
    shown = html(table(("a", "b"), [(text("x|y"), code_cell("`v|w"))]))

    assert "<td>x|y</td>\n<td><code>`v|w</code></td>" in shown


@pytest.mark.parametrize(
    "told", ["@joe", "a@b.example", "#12", "!12", "GH-12", "https://evil.example", "www.evil.example"]
)
def test_nothing_becomes_a_mention_a_reference_or_a_link(told: str) -> None:
    shown = html(text(f"see {told} there"))

    assert told not in shown
    assert told in shown.replace("<!-- -->", "")
    assert "<a " not in shown


def test_a_fence_is_longer_than_any_in_what_it_holds() -> None:
    shown = html(fenced(["a", "````", "<b>"], indent="  "))

    assert "a\n````\n&lt;b&gt;\n" in shown


def test_a_summary_is_html_and_takes_none_from_outside() -> None:
    assert folded("<b> & @joe", "x") == ("<details><summary>&lt;b&gt; &amp; @<!-- -->joe</summary>\n\nx\n\n</details>")


def test_nothing_hostile_is_read_as_html_link_or_picture() -> None:
    shown = render(a_hostile_report())

    kinds = {part.type for token in MarkdownIt("gfm-like").parse(shown) for part in (token, *(token.children or ()))}
    assert raw_html(shown) == []
    assert kinds & {"link_open", "image", "em_open", "s_open", "heading_open"} == {"heading_open"}
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert "onerror=y" in shown


def test_hostile_text_adds_no_heading_and_closes_no_fold() -> None:
    shown = render(a_hostile_report("</details>\n# owned\n```\n| a | b |\n- x"))

    blocks = [token.content for token in MarkdownIt("gfm-like").parse(shown) if token.type == "html_block"]
    assert "owned" in shown
    assert "<h1>" not in html(shown)
    assert raw_html(shown) == []
    assert "".join(blocks).count("<details>") == "".join(blocks).count("</details>") == 3


@pytest.mark.parametrize("name", ["s", HOSTILE, "$<@a" * 50], ids=["plain", "hostile", "growing"])
def test_it_is_never_longer_than_a_comment_may_be_and_says_what_is_left_out(name: str) -> None:
    runs = [a_leak(f"{name}{k}", path=f"{name}{k}.py", reasons=(name * 9,) * 3) for k in range(400)]

    shown = render(a_report(*runs, *(a_run(f"{name}{k}") for k in range(400))))

    assert len(shown) <= 65_000
    assert re.search(r"\*\*Left out, for length: \d+ runs", shown)
    assert "… and " in shown
    assert shown.startswith("### ✗ Memory: 400 of 800 as expected, 400 not: ")


def test_what_was_not_expected_stands_before_what_has_no_verdict() -> None:
    shown = render(a_report_of_everything())

    headings = re.findall(r"^#### (.*)", shown, re.MULTILINE)
    assert headings == [
        "✗ lost.py::step: measuring failed:",
        "✗ gone.py: gone.py: not there",
        "✗ train · step: leak (held_reference), expected stable",
        "✗ broken · step: failed, expected stable",
        "~ known · step: leak (known) (held_reference), expected stable",
        "? unclear · step: inconclusive, expected stable",
    ]


def test_the_curve_stands_with_the_finding_and_the_reasons_are_folded() -> None:
    open_part, _, folded_part = render(a_report(a_leak())).partition("<details>")

    assert "- **curve:** `▁▁▂▂▃▃▄▄▅▅▆▆▇▇██ leak.bytes 0 B to 960.0 KiB`" in open_part
    assert "- **because:** The storages of one site" in folded_part


def test_without_a_finding_the_reasons_are_not_hidden() -> None:
    failed = a_run(outcome="failed", as_expected=False, reasons=("it raised",), ending=Ending(status="raised"))

    assert "- **because:** It raised." in render(a_report(failed)).partition("<details>")[0]


@pytest.mark.parametrize(
    ("report", "first"),
    [
        (a_report(), "### ✗ Memory: Nothing was measured."),
        (a_report(a_run()), "### ✓ Memory: The one run ended as expected."),
        (
            a_report(a_run(), interrupted=True),
            "### ? Memory: Interrupted: what follows is missing. The one run ended as expected.",
        ),
        (
            a_report(a_leak(findings=(a_finding(known={"what": "x"}),))),
            "### ~ Memory: 0 of 1 as expected; 1 known upstream growth.",
        ),
    ],
    ids=["empty", "expected", "interrupted", "known"],
)
def test_the_first_line_is_the_verdict(report: Report, first: str) -> None:
    assert render(report).splitlines()[0] == first
