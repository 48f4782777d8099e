"""What the allocators of accelerators hold, of devices that the program uses already. Asking initialises nothing."""

from __future__ import annotations

import sys
from typing import Any, Protocol

__all__ = ["DEVICES", "Devices", "TorchDevices", "allocator_bytes", "use_devices"]


class Devices(Protocol):
    """Statistics of the devices in use."""

    def in_use(self) -> tuple[str, ...]:
        """Devices that are initialised, as torch spells them ("cuda:0")."""

    def statistics(self, device: str) -> dict[str, int]:
        """Bytes: ``allocated`` in tensors, ``reserved`` by the cache, ``inactive`` in it, ``outside`` (device-wide,
        other owners)."""

    def allocated(self, device: str) -> int:
        """Bytes in tensors, cheaply."""


class TorchDevices:
    """torch's own figures for CUDA (and ROCm) and XPU."""

    def in_use(self) -> tuple[str, ...]:
        found: list[str] = []
        for kind in ("cuda", "xpu"):
            module = self._module(kind)
            if module is not None and module.is_initialized():
                found += [f"{kind}:{i}" for i in range(module.device_count())]
        return tuple(found)

    def statistics(self, device: str) -> dict[str, int]:
        kind, _, index = device.partition(":")
        module = self._module(kind)
        stats = module.memory_stats(int(index))
        allocated = int(stats.get("allocated_bytes.all.current", 0))
        reserved = int(stats.get("reserved_bytes.all.current", 0))
        figures = {
            "allocated": allocated,
            "reserved": reserved,
            "inactive": int(stats.get("inactive_split_bytes.all.current", 0)),
        }
        if hasattr(module, "mem_get_info"):
            free, total = module.mem_get_info(int(index))
            figures["outside"] = max(0, total - free - reserved)
        return figures

    def allocated(self, device: str) -> int:
        kind, _, index = device.partition(":")
        return int(self._module(kind).memory_allocated(int(index)))

    @staticmethod
    def _module(kind: str) -> Any:
        return getattr(sys.modules.get("torch"), kind, None)


DEVICES: list[Devices] = [TorchDevices()]


def use_devices(devices: Devices) -> Devices:
    """Ask *devices* from now on (a scripted stand-in in tests); returns what was asked before."""
    before, DEVICES[0] = DEVICES[0], devices
    return before


def allocator_bytes() -> dict[str, dict[str, int]]:
    """The statistics of each device in use."""
    return {device: DEVICES[0].statistics(device) for device in DEVICES[0].in_use()}
