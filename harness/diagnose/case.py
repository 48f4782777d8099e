"""What a rule looks at, and what it answers."""

from __future__ import annotations

import msgspec

from harness.model.recording import Recording, SubjectRecord
from harness.model.series import Growth
from harness.model.verdict import Suspect, Verdict

__all__ = ["Case", "Opinion"]


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's answer: the cause (DESIGN's spelling), why in plain words, and what to change."""

    cause: str
    explanation: str
    fix: str


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One suspect with everything that was recorded and judged around it."""

    recording: Recording
    verdict: Verdict
    suspect: Suspect

    def grows(self, metric: str) -> bool:
        """Whether the verdict says that *metric* grows to the end."""
        growth = self.verdict.growth.get(metric)
        return growth is not None and growth.trend == "growing"

    def rate(self, metric: str) -> float:
        """The growth of *metric* a step; 0 where it was not read or does not grow."""
        growth: Growth | None = self.verdict.growth.get(metric)
        return max(0.0, growth.per_step) if growth is not None and growth.trend == "growing" else 0.0

    @property
    def plain(self) -> SubjectRecord:
        """The subject that was counted and timed, without a ledger."""
        subject = self.recording.subject("plain")
        assert subject is not None
        return subject

    @property
    def place(self) -> str:
        """The allocating line as a few words, or the step itself."""
        site = self.suspect.site
        if site is not None and site.frames:
            frame = site.frames[0]
            return f"line {frame.line} in {frame.function}"
        return self.recording.scenario.variant
