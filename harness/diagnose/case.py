"""What a rule looks at, and what it answers."""

from __future__ import annotations

from functools import cached_property

import msgspec

from harness.diagnose.holders import LEAST_COMPILED_RATE, chosen_container, chosen_path, compiled_rate
from harness.model.allocation import Frame
from harness.model.holding import GrownContainer, HeldRecord, HolderPath, Link, Trait
from harness.model.metric import metric
from harness.model.recording import Recording, SubjectRecord
from harness.model.series import Growth
from harness.model.verdict import Suspect, Verdict
from harness.units import format_rate

__all__ = ["Case", "Opinion"]


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's answer: the cause (DESIGN's spelling), why in plain words, and what to change."""

    cause: str
    explanation: str
    fix: str


class Case:
    """One suspect with everything that was recorded and judged around it."""

    def __init__(self, *, recording: Recording, verdict: Verdict, suspect: Suspect) -> None:
        self.recording, self.verdict, self.suspect = recording, verdict, suspect

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

    @cached_property
    def held(self) -> HeldRecord | None:
        """What the look at living objects gave, in the subject that this suspect was seen in."""
        role = "uncollected" if self.suspect.in_uncollected else "ledger"
        return next((s.held for s in self.recording.subjects if s.held is not None and s.role == role), None)

    @cached_property
    def path(self) -> HolderPath | None:
        """The way to what this suspect keeps: to its survivors, or to the container that grows with it."""
        return chosen_path(self.suspect, self.held, self.container, self.verdict) if self.held is not None else None

    @cached_property
    def container(self) -> GrownContainer | None:
        """The growing container that explains this suspect."""
        return chosen_container(self.suspect, self.held, self.verdict) if self.held is not None else None

    @property
    def retained_at(self) -> tuple[Frame, ...]:
        """The frames of the line at which the container grows, or at which the name is bound that all hangs on."""
        if self.held is None:
            return ()
        registry = self._registry()
        if registry is not None and registry in self.held.bound_at:
            return self.held.bound_at[registry]
        if self.container is not None and self.container.grown_at:
            return self.container.grown_at
        link = self.suspect_link
        if link is not None and link.name == "grad":
            return self.held.bound_at.get("grad", ())
        if self.path is not None and self.path.links:
            return self.held.bound_at.get(self.path.links[0].name, ())
        return ()

    def _registry(self) -> str | None:
        """The library's own count whose growth is this suspect's."""
        assert self.held is not None
        if self.path is not None and self.path.root.startswith("atexit"):
            return "atexit callbacks"
        if self.path is not None and self.path.root == "sys.modules":
            return "modules"
        counted = {"fds": "open descriptors", "threads": "threads"}.get(self.suspect.metric)
        if counted is not None:
            grown = self.container is not None and bool(self.container.grown_at)
            return None if grown else counted
        compiled, rate = compiled_rate(self.held)
        users = self.path is not None and self.path.root_kind in ("module", "class", "local", "thread")
        return compiled if rate >= LEAST_COMPILED_RATE and not users else None

    @property
    def suspect_link(self) -> Link | None:
        """The link at which growth enters."""
        path = self.path
        return path.links[path.suspect] if path is not None and path.suspect is not None else None

    @property
    def kept(self) -> tuple[Link, ...]:
        """The links behind the suspect: what it keeps, and through what."""
        path = self.path
        return path.links[path.suspect + 1 :] if path is not None and path.suspect is not None else ()

    def keeps(self, *traits: Trait) -> bool:
        """Whether what the suspect keeps leads through one of *traits*."""
        return any(link.trait in traits for link in self.kept)

    @property
    def on_path(self) -> frozenset[Trait]:
        """All that the way leads through."""
        return frozenset(link.trait for link in self.path.links) if self.path is not None else frozenset()

    @property
    def place(self) -> str:
        """The allocating line as a few words, or the line at which it is kept, or the step itself."""
        site = self.suspect.site
        frames = site.frames if site is not None and site.frames else self.retained_at
        return f"line {frames[0].line} in {frames[0].function}" if frames else self.recording.scenario.variant

    @property
    def kept_at(self) -> str:
        """ "line 12 `history.append(loss)`": where to change the program; empty where nobody saw it."""
        if not self.retained_at:
            return ""
        frame = self.retained_at[0]
        return f"line {frame.line} `{_short(frame.source)}`" if frame.source else f"line {frame.line}"

    @property
    def kept_line(self) -> str:
        """The same without its source, for a second mention: ``line 12``."""
        return f"line {self.retained_at[0].line}" if self.retained_at else ""

    @property
    def holder(self) -> str:
        """The suspect as a person would call it: ``history``, ``writer.scalar_dict``; "something" where unknown."""
        path = self.path
        if path is None or path.suspect is None:
            return "something that outlives the step"
        return holder_name(path)

    @property
    def and_keeper(self) -> str:
        """``; loaders keeps what it leaves, at line 12``, for the end of a sentence; empty where nobody does."""
        if self.container is None:
            return ""
        return f"; {self.holder} keeps what it leaves{f', at {self.kept_at}' if self.kept_at else ''}"

    @property
    def at_line(self) -> str:
        """``, at line 12 ...``, for the end of a sentence; empty where nobody saw it."""
        return f", at {self.kept_at}" if self.kept_at else ""

    @property
    def amount(self) -> str:
        """``4.0 KiB/step``: what this suspect grows by."""
        growth = self.suspect.site_growth or self.suspect.growth
        if metric(self.suspect.metric).unit == "bytes":
            return format_rate(growth.per_step)
        return f"{growth.per_step:.3g} a step"


def holder_name(path: HolderPath) -> str:
    """The last names up to the suspect, items left out: ``writer.scalar_dict``, ``model.adapters``."""
    assert path.suspect is not None
    if path.root.startswith("atexit"):
        return "atexit"
    if path.root == "sys.modules":
        return path.root
    names = [
        link.name for link in path.links[: path.suspect + 1] if not link.name.startswith(("[", "_modules", "_par"))
    ]
    if not names:
        return path.root
    dotted = names[-1] if " " in names[-1] or "." in names[-1] else ".".join(names[-3:])
    return dotted if " " not in dotted or dotted == names[-1] else names[-1]


def _short(source: str) -> str:
    return source if len(source) <= 60 else f"{source[:57]}..."
