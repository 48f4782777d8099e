"""Device memory as torch's caching allocator and the driver count it. Never initialises a device to measure it."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["Accelerator"]


class Accelerator:
    """Bytes in tensors, bytes that torch's cache holds, bytes in use outside it, summed over the visible devices.

    The device counts as absent until the program itself has used it: a reading that made a CUDA context would
    take some hundred MiB and be its own finding. Works for CUDA (ROCm too) and XPU builds, and for what a program puts
    in their place before one of these is made.
    """

    name = "accelerator"
    metrics = ("device.allocated", "device.reserved", "device.outside")
    every = 1

    def __init__(self) -> None:
        torch: Any = sys.modules.get("torch")
        self._backend: Any = None
        for name in ("cuda", "xpu"):
            backend = getattr(torch, name, None)
            if backend is not None and backend.is_available():
                self._backend = backend

    def absence(self) -> str | None:
        """A build or a machine without an accelerator."""
        return None if self._backend is not None else "torch finds no accelerator here (a CPU build, or no device)"

    def read(self, into: dict[str, int]) -> None:
        """Bytes; nothing before the program's first use of the device."""
        backend = self._backend
        if not backend.is_initialized():
            return
        devices = range(backend.device_count())
        reserved = sum(backend.memory_reserved(d) for d in devices)
        into["device.allocated"] = sum(backend.memory_allocated(d) for d in devices)
        into["device.reserved"] = reserved
        used = [total - free for free, total in (backend.mem_get_info(d) for d in devices)]
        into["device.outside"] = sum(used) - reserved
