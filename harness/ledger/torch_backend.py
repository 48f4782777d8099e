"""torch's own accelerator modules as :class:`harness.ledger.accelerator.Backend`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.ledger.accelerator import Backend

__all__ = ["torch_backend"]


class _TorchBackend:
    """torch.cuda (also ROCm's) or torch.xpu. Only what reads is called, and only once a device is in use."""

    def __init__(self, kind: str, module: Any) -> None:
        self.kind = kind
        self._torch = module

    def is_initialized(self) -> bool:
        return bool(self._torch.is_initialized())

    def device_count(self) -> int:
        return int(self._torch.device_count())

    def statistics(self, index: int) -> Mapping[str, int]:
        found: Mapping[str, int] = self._torch.memory_stats(index)
        return found

    def free_and_total(self, index: int) -> tuple[int, int] | None:
        ask = getattr(self._torch, "mem_get_info", None)
        try:
            return None if ask is None else ask(index)
        except RuntimeError:  # not every driver and device tells
            return None

    def pinned_statistics(self) -> Mapping[str, int]:
        ask = getattr(self._torch, "host_memory_stats", None)
        found: Mapping[str, int] = {} if ask is None else ask()
        return found

    def keep_history(self, most_entries: int | None) -> None:
        record = getattr(self._torch.memory, "_record_memory_history", None)
        if record is None:
            return
        if most_entries is None:
            record(enabled=None)
        else:
            record(enabled="state", stacks="python", max_entries=most_entries)

    def snapshot(self) -> Mapping[str, Any] | None:
        take = getattr(self._torch.memory, "_snapshot", None)
        found: Mapping[str, Any] | None = None if take is None else take()
        return found


def torch_backend() -> Backend | None:
    """The accelerator that this torch is built for, if it is one whose allocator can be asked; None otherwise.

    ``torch.cuda.is_initialized`` and its like answer without making anything ready.
    """
    import torch

    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        is_built = module is not None and (getattr(torch.version, kind, None) or getattr(torch.version, "hip", None))
        if is_built:
            return _TorchBackend(kind, module)
    return None
