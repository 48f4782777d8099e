"""What a subject, the fork server and the parent say to each other: small frozen messages, framed by length.

They are msgpack, decoded into declared types only: nothing that arrives can be code.
"""

from __future__ import annotations

import os
import struct

import msgspec

from harness.ledger.protocol import SiteState
from harness.model.allocation import Frame, ScopeOwner
from harness.model.encodable import encodable
from harness.model.environment import Environment
from harness.model.gradients import GradientTable
from harness.model.holding import CutOrder, HeldRecord
from harness.model.memory_map import MemoryMap
from harness.model.native import NativeRecord
from harness.model.peak import PeakComposition
from harness.model.recording import Absence, Ending, FaultRecord, Role, ScenarioFacts, Variant

__all__ = [
    "WIRE_LOST",
    "Broken",
    "Checkpoint",
    "Facts",
    "FrameReader",
    "Go",
    "Held",
    "Job",
    "Launch",
    "Launched",
    "LedgerState",
    "LostError",
    "Mapped",
    "Message",
    "Native",
    "Over",
    "Ready",
    "Sample",
    "ServerReady",
    "SiteDefinition",
    "Stop",
    "SubjectGone",
    "decode_job",
    "encode",
    "send",
]

_HEADER = struct.Struct("<I")
_LONGEST = 64 << 20
_write = os.write  # a scenario may put something else in its place

WIRE_LOST = 86
"""The exit code of a subject that can no longer speak: sysexits.h and shells leave it free."""


class LostError(Exception):
    """The private pipe is gone: the parent ended, or the scenario closed or replaced the descriptor."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What one subject is to do. ``first_stop`` is the number of steps after which it first asks whether to go on;
    ``watch_holders``: it notes the sizes of containers then, as it will be asked who holds what; ``cut``: it cuts that
    edge after every step; ``longest_s``: for how long it follows gradients."""

    path: str
    name: str
    variant: Variant
    role: Role
    warmup: int
    first_stop: int
    seed: int
    memory_limit_bytes: int | None
    watch_holders: bool = False
    cut: CutOrder | None = None
    native_folder: str | None = None
    longest_s: float = 1.0


class Launch(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Parent to server: start this job. The subject's descriptors travel beside it: wire, stdout, stderr."""

    job: Job
    fresh_interpreter: bool


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Parent to server: end the present subject and all that it started."""


class ServerReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Server to parent: torch is imported (or ``error`` says why not)."""

    error: str | None = None


class Launched(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Server to parent: the subject's process id."""

    pid: int


class SubjectGone(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Server to parent: the subject ended, by exit code or by signal number; all that it started is gone too."""

    pid: int
    code: int | None
    signal: int | None


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent: its process is up. The time from the request to here is the cost of a fresh subject."""

    pid: int


class Facts(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent, once the file is imported: what it says of itself, and what cannot be read here."""

    scenario: ScenarioFacts
    environment: Environment
    absent: tuple[Absence, ...]
    ledger_source: str | None = None
    ledger_blind_to: str | None = None


class Sample(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent at a boundary. ``step`` -1 is before the first; ``step_ns`` is how long the step took.

    ``sites`` holds the sites whose survivors changed since the last sample.
    """

    step: int
    step_ns: int
    values: dict[str, int]
    sites: tuple[SiteState, ...] = ()


class SiteDefinition(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent, before a sample first speaks of the site."""

    site: int
    device: str
    operator: str
    frames: tuple[Frame, ...]


class LedgerState(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent at checkpoints: what is not told sample by sample."""

    peak_bytes: dict[str, int]
    dropped: int
    in_graph: dict[int, int]
    owners: dict[int, tuple[ScopeOwner, ...]] = {}
    peak: PeakComposition | None = None


class Native(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent, under memray: what its steps left behind."""

    record: NativeRecord


class Mapped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent, after the last step of a subject that ended well: its mappings at both ends of the steps."""

    memory_map: MemoryMap


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent: *steps* steps are done; may I go on? It waits for a :class:`Go`."""

    steps: int


class Go(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Parent to subject: go on until so many steps are done in all; no more than now means stop.

    ``look_at`` asks, with a stop, who holds the survivors of these sites and what else grew; None: nobody asks."""

    until: int
    look_at: tuple[int, ...] | None = None


class Held(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent, after the last step: who holds what."""

    record: HeldRecord


class Over(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent, last: how it ended, as seen from inside. A subject that was killed never says it.

    ``started`` is False where the file could not be run at all.
    """

    ending: Ending
    started: bool
    faults: tuple[FaultRecord, ...]
    collector_enabled: bool
    frozen_growth: int
    trimmed_bytes: int | None
    cuts: int = 0
    ran_backward: bool = False
    gradients: GradientTable | None = None
    remarks: tuple[str, ...] = ()


class Broken(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Subject to parent: our own code failed inside it. ``detail`` is the traceback."""

    detail: str


Message = (
    Launch
    | Stop
    | ServerReady
    | Launched
    | SubjectGone
    | Ready
    | Facts
    | Sample
    | SiteDefinition
    | LedgerState
    | Checkpoint
    | Go
    | Held
    | Native
    | Mapped
    | Over
    | Broken
)

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_job_decoder: msgspec.msgpack.Decoder[Job] = msgspec.msgpack.Decoder(Job)


def encode(message: Message | Job) -> bytes:
    """The message with its length in front. What no UTF-8 can hold (a file's odd name) is written as an escape."""
    try:
        body = _encoder.encode(message)
    except UnicodeEncodeError:
        body = _encoder.encode(encodable(message))
    return _HEADER.pack(len(body)) + body


def send(fd: int, message: Message) -> None:
    """Write the whole message to *fd*, blocking; :class:`LostError` when that cannot be done any more."""
    left = memoryview(encode(message))
    while left:
        try:
            left = left[_write(fd, left) :]
        except BlockingIOError:  # the scenario has set every descriptor so
            os.set_blocking(fd, True)
        except OSError as error:
            if error.errno is None:
                raise  # not the system: a signal handler of the scenario's raised a TimeoutError
            raise LostError(str(error)) from error


def decode_job(body: bytes) -> Job:
    """A job alone, as a fresh interpreter gets it."""
    return _job_decoder.decode(body)


class FrameReader:
    """Puts messages together from whatever pieces arrive. ``feed`` returns those that are complete.

    A length beyond 64 MiB, or a body that is no message, means that something else wrote to the pipe:
    ``msgspec.DecodeError``.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        self._buffer += data
        messages: list[Message] = []
        while len(self._buffer) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer)
            if length > _LONGEST:
                raise msgspec.DecodeError(f"a message of {length} bytes: something else wrote to the private pipe")
            end = _HEADER.size + length
            if len(self._buffer) < end:
                break
            messages.append(_decoder.decode(bytes(self._buffer[_HEADER.size : end])))
            del self._buffer[:end]
        return messages
