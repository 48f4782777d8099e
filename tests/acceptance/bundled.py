"""One run of all bundled scenarios, of which many tests ask something: it takes a minute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from harness.model.codec import decode_report
from harness.model.report import Report, RunReport

__all__ = ["Done", "run_all"]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One ``harness run`` of all bundled scenarios: its exit code, and what it wrote."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def report(self) -> Report:
        return decode_report(self.stdout, origin="harness run --format json")

    def run(self, scenario: str, variant: str) -> RunReport:
        (found,) = (run for run in self.report.runs if (run.scenario, run.variant) == (scenario, variant))
        return found

    def told(self, scenario: str, variant: str) -> dict[str, Any]:
        """The same as a program reads it."""
        runs = msgspec.json.decode(self.stdout)["runs"]
        (found,) = (run for run in runs if (run["scenario"], run["variant"]) == (scenario, variant))
        one: dict[str, Any] = found
        return one


def run_all(folder: Path) -> Done:
    """As a user runs them, from *folder*."""
    command = [sys.executable, "-m", "harness.cli.main", "run", "--format", "json"]
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return Done(code=run.returncode, stdout=run.stdout, stderr=run.stderr.decode())
