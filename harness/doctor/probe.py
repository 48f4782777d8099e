"""What a process of its own says about torch: it may die of it, and this one lives on to tell.

The process takes one stage after the other and says so before each; where it dies, another one goes on behind that
stage. So whatever torch does to a process, every stage is either answered or has a reason why not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["FAILS", "LIBRARY", "STAGES", "DeviceFacts", "LedgerFacts", "Probe", "TorchFacts", "probe"]

STAGES = ("torch", "devices", "instruments", "native_stacks", "ledger")
"""The order in which the process takes them; then one for each library of the user's, which may do anything to it."""

LIBRARY = "library "
"""How the stage of a library begins; its place among the libraries follows."""

_NO_TORCH = "torch cannot be imported"

FAILS = "it fails"
"""How the reason of an instrument begins that is not absent, but broken."""

_LONGEST_S = 120.0
_NOT_REACHED = "was not reached: the process that was to tell ended before"


class TorchFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The build. ``cuda`` and ``hip`` are versions (``12.6``) or None."""

    version: str
    cuda: str | None
    hip: str | None
    path: str
    debug: bool
    threads: int
    interop_threads: int


class DeviceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """``driver_cuda`` is the newest CUDA version that the driver serves; ``why_not`` torch's reason for no device.

    ``architectures`` are those that the build has device code for, as far as torch tells.
    """

    accelerator: str | None
    names: tuple[str, ...]
    capabilities: tuple[str, ...]
    driver_cuda: str | None
    why_not: str | None
    architectures: tuple[str, ...] = ()


class LedgerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Why each ledger cannot serve there; None where its self-test passed."""

    native: str | None
    dispatch: str | None


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to each stage, or None; then ``errors`` says why, by the stage's name.

    ``instruments`` and ``libraries`` map each to the reason why it does not work, or None.
    """

    torch: TorchFacts | None = None
    devices: DeviceFacts | None = None
    instruments: Mapping[str, str | None] | None = None
    native_stacks: bool | None = None
    libraries: Mapping[str, str | None] = {}
    ledger: LedgerFacts | None = None
    errors: Mapping[str, str] = {}

    def error(self, stage: str) -> str:
        return self.errors.get(stage, _NOT_REACHED)


class _Line(msgspec.Struct):
    stage: str
    value: Any = None
    error: str | None = None
    begins: bool = False


def probe(
    libraries: Sequence[Path] = (),
    *,
    environ: Mapping[str, str],
    longest_s: float = _LONGEST_S,
    module: str = "harness.doctor.child",
) -> Probe:
    """Ask a new Python in *environ*; *libraries* are loaded there, behind torch.

    *longest_s* is for each process, and a stage that takes longer has that as its reason. *module* is what runs there.
    """
    paths = [os.fspath(library) for library in libraries]
    stages = (*STAGES, *(f"{LIBRARY}{place}" for place in range(len(paths))))
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    while left := _left(stages, values, errors):
        command = [sys.executable, "-P", "-m", module, ",".join(left), *paths]
        lines, ending = _ask(command, environ=environ, longest_s=longest_s)
        begun = left[0]
        for line in lines:
            if line.stage not in left:
                continue
            if line.begins:
                begun = line.stage
            elif line.error is not None:
                errors[line.stage] = line.error
            else:
                values[line.stage] = line.value
        if begun not in values:
            errors.setdefault(begun, ending)  # one stage less each time, so this ends
    reasons = {
        path: errors.get(f"{LIBRARY}{place}", values.get(f"{LIBRARY}{place}")) for place, path in enumerate(paths)
    }
    return msgspec.convert({**values, "libraries": reasons, "errors": errors}, Probe)


def _left(stages: Sequence[str], values: Mapping[str, Any], errors: dict[str, str]) -> list[str]:
    """Stages to take yet. Those that need torch are not taken where it does not work: it may hang each time."""
    if "torch" in errors:
        for stage in stages:
            if stage in ("devices", "ledger") or stage.startswith(LIBRARY):
                errors.setdefault(stage, _NO_TORCH)
    return [stage for stage in stages if stage not in values and stage not in errors]


def _ask(command: Sequence[str], *, environ: Mapping[str, str], longest_s: float) -> tuple[list[_Line], str]:
    """What it said before it ended, and how it ended."""
    ours = str(Path(__file__).resolve().parents[2])  # last: it may be a folder that has more than our package in it
    path = os.pathsep.join(filter(None, (environ.get("PYTHONPATH"), ours)))
    process = subprocess.Popen(
        command,
        env={**environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            out, err = process.communicate(timeout=longest_s)
            ending = _ending(process.returncode, err)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            ending = f"did not end within {longest_s:g} s"
        except BaseException:
            process.kill()
            raise
    return list(_lines(out)), ending


def _lines(out: bytes) -> list[_Line]:
    lines = []
    for line in out.splitlines():
        try:
            lines.append(msgspec.json.decode(line, type=_Line))
        except msgspec.DecodeError:
            continue  # cut off in the middle, or printed by something else
    return lines


def _ending(code: int, err: bytes) -> str:
    if code < 0:
        return f"the process died of {_signal_name(-code)}"
    last = [line.strip() for line in err.decode(errors="replace").splitlines() if line.strip()][-1:]
    return f"the process ended with exit code {code}{''.join(f' ({line})' for line in last)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
