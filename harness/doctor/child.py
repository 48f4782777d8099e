"""Runs in a process of its own (``python -m harness.doctor.child STAGE,... [LIBRARY ...]``): imports torch, tries it.

One JSON object a line on stdout, one line before each stage and one behind it. What torch and libraries print goes
to stderr.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from harness.doctor.probe import FAILS, LIBRARY, DeviceFacts, LedgerFacts, TorchFacts

__all__ = ["main"]

_KNOWN_NUMBERS = 1_000


def main() -> None:
    """Take the stages that are asked for. Ends by ``os._exit``: no library's own ending may change what was said."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    for stage in sys.argv[1].split(","):
        out.write(msgspec.json.encode({"stage": stage, "begins": True}) + b"\n")
        place = stage.removeprefix(LIBRARY) if stage.startswith(LIBRARY) else None
        read = _READERS[stage] if place is None else partial(_why_not_loaded, sys.argv[2 + int(place)])
        out.write(msgspec.json.encode({"stage": stage, **_answer(read)}) + b"\n")
    sys.stderr.flush()
    os._exit(0)


def _answer(read: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": read()}
    except BaseException as error:  # an import may raise SystemExit, and whatever it is, the next stage follows
        text = str(error).strip()
        return {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__}


def _torch() -> TorchFacts:
    import torch

    return TorchFacts(
        version=str(torch.__version__),
        cuda=torch.version.cuda,
        hip=getattr(torch.version, "hip", None),
        path=os.path.dirname(torch.__file__),
        debug=bool(torch.version.debug),
        threads=torch.get_num_threads(),
        interop_threads=torch.get_num_interop_threads(),
    )


def _devices() -> DeviceFacts:
    import torch

    found = torch.accelerator.current_accelerator(check_available=True)
    kind = None if found is None else found.type
    backend: Any = getattr(torch, kind or "", None)
    count = torch.accelerator.device_count() if kind else 0
    names = tuple(str(backend.get_device_name(i)) for i in range(count)) if hasattr(backend, "get_device_name") else ()
    capabilities: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    if kind == "cuda" and torch.version.cuda:
        capabilities = tuple("{}.{}".format(*torch.cuda.get_device_capability(i)) for i in range(count))
        architectures = tuple(torch.cuda.get_arch_list())
    return DeviceFacts(
        accelerator=kind,
        names=names,
        capabilities=capabilities,
        driver_cuda=_driver_cuda(),
        why_not=_why_no_cuda(torch) if kind is None and torch.version.cuda else None,
        architectures=architectures,
    )


def _driver_cuda() -> str | None:
    """The CUDA version that the driver's own library states (cuDriverGetVersion); needs no device."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        version = ctypes.c_int()
        if library.cuDriverGetVersion(ctypes.byref(version)):
            return None
    except (OSError, AttributeError):
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _why_no_cuda(torch: Any) -> str:
    try:
        torch.cuda.init()
    except Exception as error:
        return str(error).strip().splitlines()[0]
    return "torch sees no device"


def _instruments() -> dict[str, str | None]:
    from harness.instruments import INSTRUMENTS

    return {str(kind.name): _absence(kind) for kind in INSTRUMENTS}


def _absence(kind: Any) -> str | None:
    try:
        instrument = kind()
        absent: str | None = instrument.absence()
        if absent is None:
            instrument.read({})
    except Exception as error:
        return f"{FAILS}: {type(error).__name__}: {error}"
    return absent


def _native_stacks() -> bool:
    import memray

    return bool(memray.Tracker)


def _why_not_loaded(path: str) -> str | None:
    import torch  # noqa: F401 - a custom operator's library is linked against what torch has loaded

    try:
        ctypes.CDLL(path, mode=os.RTLD_NOW)  # every symbol now, as torch.ops.load_library has it
    except OSError as error:
        return str(error)
    return None


def _ledger() -> LedgerFacts:
    from harness.ledger.start import why_not_native

    return LedgerFacts(native=why_not_native(), dispatch=_why_not_dispatch())


def _why_not_dispatch() -> str | None:
    """The other ledger's self-test: a known storage, seen and seen to go."""
    import torch

    from harness.ledger.start import start_ledger

    with start_ledger(source="dispatch") as ledger:
        mark = ledger.mark()
        kept = torch.empty(_KNOWN_NUMBERS, dtype=torch.uint8)
        seen = ledger.live(mark).bytes.get("cpu", 0)
        del kept
        left = ledger.live(mark).bytes.get("cpu", 0)
    if seen != _KNOWN_NUMBERS or left:
        return f"a storage of {_KNOWN_NUMBERS} bytes was seen as {seen}, and as {left} after it was freed"
    return None


_READERS: dict[str, Callable[[], Any]] = {
    "torch": _torch,
    "devices": _devices,
    "instruments": _instruments,
    "native_stacks": _native_stacks,
    "ledger": _ledger,
}

if __name__ == "__main__":
    main()
