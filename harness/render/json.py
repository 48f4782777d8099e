"""The report as JSON, for machines: every figure exact, every name as in ``harness/model/report.schema.json``."""

from __future__ import annotations

from harness.model import codec
from harness.model.report import Report

__all__ = ["render"]


def render(report: Report) -> str:
    """UTF-8 text, two spaces deep, ending in a newline."""
    return codec.encode_report(report).decode()
