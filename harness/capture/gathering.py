"""Puts a subject's messages together into its record, at any moment: also when it was killed half-way."""

from __future__ import annotations

import re
import signal as signals

import msgspec

from harness.capture import wire
from harness.capture.tail import Tail
from harness.capture.thinning import SeriesBuilder
from harness.ledger.protocol import SiteState
from harness.model.allocation import ScopeOwner, SiteRecord
from harness.model.environment import Environment
from harness.model.holding import CutOrder, HeldRecord
from harness.model.memory_map import MemoryMap
from harness.model.native import NativeRecord
from harness.model.recording import Ending, LedgerRecord, Role, ScenarioFacts, SubjectRecord
from harness.model.series import Series

__all__ = ["Gathering", "ending_of_exit", "without_our_frames"]

_OUR_FRAME = re.compile(
    r'^  File "[^"\n]*[/\\]harness[/\\]capture[/\\]\w+\.py", line \d+ in .*\n|'
    r'^  File "<frozen runpy>", line \d+ in .*\n|^Extension modules: .*\n',
    re.MULTILINE,
)
"""What faulthandler writes of the frames that called the scenario, and of what torch has loaded: noise to its owner."""

_MOST_SITES = 64


class _SiteHistory:
    """A site's states at the boundaries where they changed."""

    def __init__(self, definition: wire.SiteDefinition) -> None:
        self.definition = definition
        self.changes: list[tuple[int, SiteState]] = []

    def add(self, step: int, state: SiteState) -> None:
        if len(self.changes) >= 8192:
            del self.changes[1:-1:2]
        self.changes.append((step, state))

    def record(self, boundaries: tuple[int, ...], in_graph: int, owners: tuple[ScopeOwner, ...] = ()) -> SiteRecord:
        storages: list[int] = []
        sizes: list[int] = []
        births: list[int | None] = []
        state, following = SiteState(0, 0, 0, None), 0
        for step in boundaries:
            while following < len(self.changes) and self.changes[following][0] <= step:
                state = self.changes[following][1]
                following += 1
            storages.append(state.storages)
            sizes.append(state.bytes)
            births.append(state.oldest_birth)
        return SiteRecord(
            site=self.definition.site,
            device=self.definition.device,
            operator=self.definition.operator,
            frames=self.definition.frames,
            steps=boundaries,
            storages=tuple(storages),
            bytes=tuple(sizes),
            oldest_birth=tuple(births),
            in_graph=in_graph,
            owners=owners,
        )


class Gathering:
    """What the parent knows of one subject so far."""

    def __init__(self, *, role: Role, warmup: int, cut: CutOrder | None = None) -> None:
        self.facts: ScenarioFacts | None = None
        self.environment: Environment | None = None
        self.over: wire.Over | None = None
        self.broken: str | None = None
        self.steps = 0
        self.stdout = Tail()
        self.stderr = Tail()
        self._role = role
        self._cut = cut
        self._warmup = warmup
        self._pid = 0
        self._facts: wire.Facts | None = None
        self._ledger: wire.LedgerState | None = None
        self._series: dict[str, SeriesBuilder] = {}
        self._step_ns = SeriesBuilder("step_ns")
        self._elapsed_ns = 0
        self._boundaries = SeriesBuilder("boundaries")
        self._sites: dict[int, _SiteHistory] = {}
        self._held: HeldRecord | None = None
        self._native: NativeRecord | None = None
        self._memory_map: MemoryMap | None = None

    def take(self, message: wire.Message) -> None:
        """Enter one message from the subject."""
        if isinstance(message, wire.Sample):
            self._take_sample(message)
        elif isinstance(message, wire.Held | wire.Native | wire.Mapped):
            self._take_once(message)
        elif isinstance(message, wire.SiteDefinition):
            self._sites[message.site] = _SiteHistory(message)
        elif isinstance(message, wire.LedgerState):
            self._ledger = _with_highest_peak(message, self._ledger)
        elif isinstance(message, wire.Ready):
            self._pid = message.pid
        elif isinstance(message, wire.Facts):
            self._facts, self.facts, self.environment = message, message.scenario, message.environment
        elif isinstance(message, wire.Over):
            self.over = message
        elif isinstance(message, wire.Broken):
            self.broken = message.detail

    def _take_once(self, message: wire.Held | wire.Native | wire.Mapped) -> None:
        if isinstance(message, wire.Held):
            self._held = message.record
        elif isinstance(message, wire.Native):
            self._native = message.record
        else:
            self._memory_map = message.memory_map

    def _take_sample(self, sample: wire.Sample) -> None:
        if sample.step >= 0:
            self.steps = sample.step + 1
            self._step_ns.add(sample.step, sample.step_ns)
            self._elapsed_ns += sample.step_ns
        self._boundaries.add(sample.step, 0)
        for metric, value in sample.values.items():
            builder = self._series.get(metric)
            if builder is None:
                builder = self._series[metric] = SeriesBuilder(metric)
            builder.add(sample.step, value)
        for state in sample.sites:
            self._sites[state.site].add(sample.step, state)

    def record(self, ending: Ending | None = None) -> SubjectRecord:
        """The record so far; *ending* where the parent knows how it ended, else what the subject said, else ok."""
        over = self.over
        return SubjectRecord(
            role=self._role,
            pid=self._pid,
            warmup_steps=self._warmup,
            steps=self.steps,
            elapsed_ns=self._elapsed_ns,
            step_ns=self._step_ns.build(),
            series=tuple(builder.build() for builder in self._series.values()),
            ending=ending or (over.ending if over else Ending(status="ok")),
            started=over.started if over else self._facts is not None,
            ledger=self._ledger_record(),
            faults=over.faults if over else (),
            absent=self._facts.absent if self._facts else (),
            collector_enabled=over.collector_enabled if over else True,
            frozen_growth=over.frozen_growth if over else 0,
            trimmed_bytes=over.trimmed_bytes if over else None,
            held=self._held,
            cut=self._cut,
            cuts=over.cuts if over else 0,
            ran_backward=over.ran_backward if over else False,
            gradients=over.gradients if over else None,
            remarks=over.remarks if over else (),
            native=self._native,
            memory_map=self._memory_map,
            stdout=self.stdout.text(),
            stderr=without_our_frames(self.stderr.text()),
        )

    def _ledger_record(self) -> LedgerRecord | None:
        if self._facts is None or self._facts.ledger_source is None:
            return None
        state = self._ledger or wire.LedgerState(peak_bytes={}, dropped=0, in_graph={})
        boundaries = self._boundaries.build().steps
        largest = sorted(self._sites.values(), key=lambda s: s.changes[-1][1].bytes if s.changes else 0, reverse=True)[
            :_MOST_SITES
        ]
        return LedgerRecord(
            source=self._facts.ledger_source,
            blind_to=self._facts.ledger_blind_to or "",
            peak_bytes=state.peak_bytes or self._peak_from_samples(),
            sites=tuple(
                s.record(boundaries, state.in_graph.get(s.definition.site, 0), state.owners.get(s.definition.site, ()))
                for s in largest
            ),
            dropped=state.dropped,
            peak=state.peak,
        )

    def _peak_from_samples(self) -> dict[str, int]:
        peaks = self._series.get("peak.tensors")
        series: Series | None = peaks.build() if peaks else None
        return {"cpu": int(max(series.values))} if series and series.values else {}


def _with_highest_peak(now: wire.LedgerState, before: wire.LedgerState | None) -> wire.LedgerState:
    """*now*, with the composition of the higher of both peaks; the later of equal ones."""
    if before is None or before.peak is None or (now.peak is not None and now.peak.bytes >= before.peak.bytes):
        return now
    return msgspec.structs.replace(now, peak=before.peak)


def without_our_frames(text: str) -> str:
    """*text* without our part of the stacks that faulthandler wrote into it."""
    return _OUR_FRAME.sub("", text)


def ending_of_exit(code: int | None, signal: int | None) -> Ending:
    """How a process ended that did not say so itself: by an exit code, or by a signal."""
    if code == wire.WIRE_LOST:
        return Ending(
            status="exited",
            code=code,
            detail=(
                "the process can no longer tell what it measures: the scenario closed or replaced a descriptor that it "
                "did not open (os.closerange, os.dup2); close only those that it opened"
            ),
        )
    if signal is None:
        return Ending(
            status="exited", code=code, detail=f"the process ended itself with code {code}, without finishing its steps"
        )
    name = signals.Signals(signal).name if signal in {s.value for s in signals.Signals} else f"signal {signal}"
    crashed = name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
    detail = (
        f"the process crashed with {name}; its stderr shows the Python stack at that moment"
        if crashed
        else f"the process was ended by {name}"
        + (", perhaps by the kernel for want of memory (dmesg tells)" if signal == signals.SIGKILL else "")
    )
    return Ending(status="crashed" if crashed else "killed", signal=name, detail=detail)
