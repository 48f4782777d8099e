"""What an instrument is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["Instrument", "TellsBeginnings"]


class Instrument(Protocol):
    """Something that reads numbers at a step boundary.

    ``metrics`` are names of :data:`harness.model.metric.METRICS`, where unit and blind spots stand. ``every`` is
    how many boundaries lie between two readings: 1 for what costs microseconds, more for what costs milliseconds.
    """

    @property
    def name(self) -> str: ...

    @property
    def metrics(self) -> tuple[str, ...]: ...

    @property
    def every(self) -> int: ...

    def absence(self) -> str | None:
        """Why it cannot read here, as a sentence; None where it can."""

    def read(self, into: dict[str, int]) -> None:
        """Add its present numbers to *into*; a number that cannot be had this time is left out."""


@runtime_checkable
class TellsBeginnings(Protocol):
    """An instrument that tells what comes within steps from what comes between them."""

    def begin_step(self) -> None:
        """A step is about to run; costs next to nothing."""
