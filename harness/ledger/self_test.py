"""Whether the native ledger tells the truth here: a known allocation to the byte, and the interpreter's own frames."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from harness.errors import UsageError
from harness.ledger import _native
from harness.ledger.native_ledger import NativeLedger

__all__ = ["what_fails"]

_KNOWN_BYTES = 12_345_677
_MOST_FRAMES = 64

_Walk = list[tuple[str, int, str]]


def what_fails() -> str | None:
    """The first thing that the native ledger gets wrong in this process, or None. Runs one for a moment."""
    try:
        with NativeLedger(depth=1).start() as ledger:
            return _frames_differ() or _storage_differs(ledger) or _refusal_fails(ledger)
    except UsageError as error:
        return str(error)


def _storage_differs(ledger: NativeLedger) -> str | None:
    import torch

    storage = torch.UntypedStorage(_KNOWN_BYTES)  # straight from the allocator: no mode or default device interferes
    address = storage.data_ptr()
    seen = _native.find(address)
    if seen is None:
        return "an allocation of torch's did not reach the hook"
    if seen[2] != _KNOWN_BYTES:
        return f"an allocation of {_KNOWN_BYTES} bytes was seen as {seen[2]}"
    serial = seen[0]
    del storage
    left = _native.find(address)
    if left is not None and left[0] == serial:
        return "a free of torch's did not reach the hook"
    return None


def _refusal_fails(ledger: NativeLedger) -> str | None:
    import torch

    ledger.define_scope(1, 0, name="self-test", budget_bytes=1)
    before = ledger.enter_scope(1)
    try:
        torch.UntypedStorage(_KNOWN_BYTES)
    except RuntimeError as error:
        return None if "scope self-test" in str(error) else f"a refused allocation raised another error: {error}"
    finally:
        ledger.enter_scope(before)
    return "an allocation over a budget was not refused"


def _frames_differ() -> str | None:
    namespace: dict[str, Any] = {"here": _here}
    exec(compile("def made(): return here()\n\n\nfound = made()", "<self-test>", "exec"), namespace)
    walks: list[tuple[_Walk, _Walk]] = [_here(), next(_in_a_generator()), namespace["found"]]
    for found, real in walks:
        if found != real:
            return f"the frames that were read ({found[:3]} ...) are not the interpreter's ({real[:3]} ...)"
    return None


def _here() -> tuple[_Walk, _Walk]:
    return _native.walk(), _chain(sys._getframe())[:_MOST_FRAMES]  # on one line: the frames move on


def _in_a_generator() -> Iterator[tuple[_Walk, _Walk]]:
    yield _here()


def _chain(frame: FrameType | None) -> _Walk:
    chain: _Walk = []
    while frame is not None:
        chain.append((frame.f_code.co_filename, frame.f_lineno or -1, frame.f_code.co_qualname))
        frame = frame.f_back
    return chain
