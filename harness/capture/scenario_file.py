"""A scenario that was found on disk, known without running it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.model.expectation import Expectation
from harness.model.recording import Variant

__all__ = ["ScenarioFile"]


class ScenarioFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file with a ``step``: what a look at its source tells.

    ``shown_path`` is how reports name it (relative to the working directory where it lies below it; for a bundled
    one ``scenarios/<file>``). ``variants`` are those that were asked for and that the file has. ``title``, ``tags``
    and ``expected`` are what its ``SCENARIO = Scenario(...)`` says in literals; the subject's word counts later.
    """

    name: str
    path: Path
    shown_path: str
    variants: tuple[Variant, ...]
    title: str = ""
    tags: tuple[str, ...] = ()
    expected: Expectation = Expectation(kind="stable")
    bundled: bool = False
    fresh_interpreter: bool = False
